"""docs/installation.md: its openssl commands give what the overlay needs, and what it claims of Kubernetes is so."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from child_process import eventually
from cluster import API_SERVICE, Cluster
from cryptography import x509
from cryptography.x509.oid import ExtensionOID

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/installation.md"
SERVING_NAME = "scaleproof.scaleproof-system.svc"


def commands(word: str) -> str:
    """The shell block of the page with a word in it."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    (found,) = [each for each in blocks if word in each]
    return str(found)


def production(folder: Path) -> Path:
    """The overlay as the page has it made, with the certificates of the page."""
    shutil.copytree(ROOT / "manifests", folder / "manifests")
    script = "set -e\n" + commands("cp -r") + commands("openssl")
    subprocess.run(["bash", "-c", script], cwd=folder, check=True, capture_output=True, timeout=60)
    return folder / "manifests/overlays/production"


def test_the_commands_for_a_certificate_make_one_that_the_api_server_would_trust(tmp_path: Path) -> None:
    """For the Service's name as an alternative name, which is the only one Go looks at, and signed by the authority."""
    certificates = production(tmp_path) / "certificates"
    serving = x509.load_pem_x509_certificate((certificates / "tls.crt").read_bytes())
    authority = x509.load_pem_x509_certificate((certificates / "ca.crt").read_bytes())
    serving.verify_directly_issued_by(authority)
    names = serving.extensions.get_extension_for_oid(ExtensionOID.SUBJECT_ALTERNATIVE_NAME).value
    assert isinstance(names, x509.SubjectAlternativeName)
    assert names.get_values_for_type(x509.DNSName) == [SERVING_NAME]
    constraints = authority.extensions.get_extension_for_oid(ExtensionOID.BASIC_CONSTRAINTS).value
    assert isinstance(constraints, x509.BasicConstraints)
    assert constraints.ca


def test_the_certificates_of_an_overlay_never_go_into_git() -> None:
    assert "manifests/overlays/*/certificates/" in (ROOT / ".gitignore").read_text().splitlines()


def dangling(**spec: Any) -> dict[str, Any]:
    """An APIService with nothing behind it."""
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": API_SERVICE},
        "spec": {
            "group": "external.metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "service": {"namespace": "default", "name": "gone", "port": 443},
            **spec,
        },
    }


@pytest.mark.slow
def test_the_overlay_of_the_page_is_applied_and_taken_out_again_by_its_commands(
    cluster: Cluster, tmp_path: Path
) -> None:
    overlay = production(tmp_path)
    try:
        cluster.kubectl("apply", "-k", str(overlay))
        found = cluster.get(f"/apis/apiregistration.k8s.io/v1/apiservices/{API_SERVICE}")
        assert found["spec"]["service"]["name"] == "scaleproof"
        assert found["spec"]["caBundle"]
        assert "kubectl apply -k manifests/overlays/production" in commands("apply -k")
        for line in commands("delete -k").splitlines():
            arguments = line.replace("manifests/overlays/production", str(overlay)).split()[1:]
            cluster.kubectl(*arguments)
        left = cluster.kubectl("get", "clusterrolebinding,rolebinding,apiservice", "-A", "-o", "name")
        assert "scaleproof" not in left
        assert API_SERVICE not in left
    finally:
        cluster.kubectl("delete", "apiservice", API_SERVICE, "--ignore-not-found")
        # Others look for the namespace in a cluster that they share with this test.
        cluster.kubectl("apply", "-f", str(ROOT / "manifests/base/namespace.yaml"))


@pytest.mark.slow
def test_no_namespace_goes_while_the_api_service_has_nothing_behind_it(cluster: Cluster) -> None:
    """The claim behind the order of an uninstallation."""

    def reasons() -> str:
        return cluster.kubectl(
            "get", "namespace", "hanging", "--ignore-not-found", "-o", "jsonpath={.status.conditions[*].reason}"
        )

    try:
        cluster.apply(dangling(insecureSkipTLSVerify=True))
        cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hanging"}})
        cluster.kubectl("delete", "namespace", "hanging", "--wait=false")
        eventually(lambda: "DiscoveryFailed" in reasons(), "the namespace hangs for want of discovery", 60)
    finally:
        cluster.unregister_adapter()
    eventually(lambda: not cluster.kubectl("get", "namespace", "hanging", "--ignore-not-found"), "it is gone", 120)


@pytest.mark.slow
def test_an_api_service_of_another_tool_has_to_be_deleted_before_ours_can_be_applied(
    cluster: Cluster, tmp_path: Path
) -> None:
    """kubectl takes away only what it has once applied, so insecureSkipTLSVerify stays and forbids a caBundle."""
    overlay = production(tmp_path)
    rendered = yaml.safe_load_all(cluster.kubectl("kustomize", str(overlay)))
    (ours,) = [each for each in rendered if each["kind"] == "APIService"]
    try:
        cluster.kubectl("create", "-f", "-", input=json.dumps(dangling(insecureSkipTLSVerify=True)))
        with pytest.raises(AssertionError, match="insecureSkipTLSVerify"):
            cluster.apply(ours)
        cluster.kubectl("delete", "apiservice", API_SERVICE)
        cluster.apply(ours)
    finally:
        cluster.unregister_adapter()


def test_the_base_names_the_same_secret_and_name_as_the_page() -> None:
    text = PAGE.read_text()
    deployment = yaml.safe_load((ROOT / "manifests/base/deployment.yaml").read_text())
    volumes = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["volumes"]}
    assert f"`{volumes['tls']['secret']['secretName']}`" in text
    assert f"`{SERVING_NAME}`" in text
