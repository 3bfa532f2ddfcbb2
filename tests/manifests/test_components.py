"""The components and the example overlay: their objects have the form of their kinds, and fit what the base has."""

import base64
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from certificate_files import Authority
from cluster import Cluster

MANIFESTS = Path(__file__).parents[2] / "manifests"
COMPONENTS = ("cert-manager", "service-monitor", "prometheus-rule")
SERVING_NAME = "scaleproof.scaleproof-system.svc"

Object = dict[str, Any]
Render = Callable[[str], list[Object]]


def objects(component: str) -> list[Object]:
    kustomization = yaml.safe_load((MANIFESTS / f"components/{component}/kustomization.yaml").read_text())
    texts = [(MANIFESTS / "components" / component / name).read_text() for name in kustomization["resources"]]
    return [each for text in texts for each in yaml.safe_load_all(text)]


def one(documents: list[Object], kind: str, name: str = "") -> Object:
    (found,) = [each for each in documents if each["kind"] == kind and name in ("", each["metadata"]["name"])]
    return found


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_objects_have_the_fields_that_their_kinds_have(component: str) -> None:
    schemas = yaml.safe_load((Path(__file__).parent / "operator-kinds.yaml").read_text())
    for each in objects(component):
        kind = schemas["kinds"][each["kind"]]
        schema = {
            "definitions": schemas["definitions"],
            "required": ["apiVersion", "kind", "metadata", "spec"],
            "properties": {
                "apiVersion": {"const": kind["apiVersion"]},
                "kind": {},
                "metadata": {"$ref": "#/definitions/metadata"},
                "spec": kind["spec"],
            },
            "additionalProperties": False,
        }
        jsonschema.validate(each, schema)


def test_the_certificate_is_for_the_name_that_the_api_server_asks_for_and_goes_where_the_deployment_looks() -> None:
    certificate = one(objects("cert-manager"), "Certificate", "scaleproof-serving")
    deployment = yaml.safe_load((MANIFESTS / "base/deployment.yaml").read_text())
    volumes = {each["name"]: each for each in deployment["spec"]["template"]["spec"]["volumes"]}
    assert certificate["spec"]["dnsNames"][0] == SERVING_NAME
    assert certificate["spec"]["secretName"] == volumes["tls"]["secret"]["secretName"]


def test_the_serving_certificate_is_signed_by_the_authority_of_the_component() -> None:
    """The CA Issuer takes the key pair of the Certificate that the self-signed Issuer made, and signs with it."""
    made = objects("cert-manager")
    serving = one(made, "Certificate", "scaleproof-serving")
    issuer = one(made, "Issuer", serving["spec"]["issuerRef"]["name"])
    authority = one(made, "Certificate", "scaleproof-authority")
    assert issuer["spec"]["ca"]["secretName"] == authority["spec"]["secretName"]
    assert authority["spec"]["isCA"] is True
    assert "selfSigned" in one(made, "Issuer", authority["spec"]["issuerRef"]["name"])["spec"]


def test_the_service_monitor_names_a_port_that_the_service_has() -> None:
    (endpoint,) = one(objects("service-monitor"), "ServiceMonitor")["spec"]["endpoints"]
    service = yaml.safe_load((MANIFESTS / "base/service.yaml").read_text())
    ports = {each["name"]: each["targetPort"] for each in service["spec"]["ports"]}
    deployment = yaml.safe_load((MANIFESTS / "base/deployment.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert ports[endpoint["port"]] in {each["name"] for each in container["ports"]}


@pytest.fixture
def render(cluster: Cluster, tmp_path: Path) -> Render:
    """Render an overlay that is written beside the others."""
    shutil.copytree(MANIFESTS, tmp_path / "manifests")

    def rendered(kustomization: str) -> list[Object]:
        overlay = tmp_path / "manifests/overlays/test"
        overlay.mkdir(exist_ok=True)
        (overlay / "kustomization.yaml").write_text(kustomization)
        return [each for each in yaml.safe_load_all(cluster.kubectl("kustomize", str(overlay))) if each]

    return rendered


@pytest.mark.slow
def test_all_components_together_build_and_let_the_cainjector_fill_the_ca_bundle(render: Render) -> None:
    components = "".join(f"\n- ../../components/{name}" for name in COMPONENTS)
    made = render(f"resources: [../../base]\ncomponents:{components}\n")
    assert len(made) == 13 + 4 + 1 + 2
    annotations = one(made, "APIService")["metadata"]["annotations"]
    certificate = one(made, "Certificate", "scaleproof-serving")["metadata"]
    assert annotations == {"cert-manager.io/inject-ca-from": f"{certificate['namespace']}/{certificate['name']}"}
    selector = one(made, "ServiceMonitor")["spec"]["selector"]["matchLabels"]
    assert selector.items() <= one(made, "Service")["metadata"]["labels"].items()


@pytest.mark.slow
def test_the_example_overlay_puts_ones_own_image_policies_certificate_and_authority_in(
    cluster: Cluster, render: Render, tmp_path: Path
) -> None:
    overlay = tmp_path / "manifests/overlays/example"
    (overlay / "certificates").mkdir()
    authority = Authority("ca", overlay / "certificates")
    authority.issue("tls", SERVING_NAME, names=(SERVING_NAME,))

    made = render("resources: [../example]\n")
    bundle = base64.b64decode(one(made, "APIService")["spec"]["caBundle"])
    assert bundle == authority.certificate_file.read_bytes()
    secret = one(made, "Secret")
    assert (secret["metadata"]["name"], secret["type"]) == ("scaleproof-serving-certificate", "kubernetes.io/tls")
    assert set(one(made, "ConfigMap")["data"]) == {"chat.yaml"}
    (container,) = one(made, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "registry.example.com/scaleproof:0.1.0"
    cluster.apply(one(made, "Namespace"))
    cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=yaml.safe_dump_all(made))
