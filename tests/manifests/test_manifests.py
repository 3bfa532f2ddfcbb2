"""The manifests are what a real API server accepts, and give the adapter no right that it does not need."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from cluster import ADAPTER_NAMESPACE, Cluster
from policy_world import LIBRARY

from adapter.core.policy_reading import read_policies
from adapter.core.problems import has_errors
from sim.policy_hpa_lints import lint_together

MANIFESTS = Path(__file__).parents[2] / "manifests"


def documents(path: Path) -> list[dict[str, Any]]:
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def test_the_adapters_roles_are_the_two_of_every_aggregated_api_server_and_one_for_its_policies() -> None:
    """Its one role of its own has no wildcard: it may see ScalingPolicies and write their status, not them."""
    found = documents(MANIFESTS / "base/rbac.yaml")
    bindings = [each for each in found if "roleRef" in each]
    assert [(each["kind"], each["roleRef"]["kind"], each["roleRef"]["name"]) for each in bindings] == [
        ("ClusterRoleBinding", "ClusterRole", "system:auth-delegator"),
        ("RoleBinding", "Role", "extension-apiserver-authentication-reader"),
        ("ClusterRoleBinding", "ClusterRole", "scaleproof:policies"),
    ]
    (role,) = [each for each in found if "roleRef" not in each]
    assert (role["kind"], role["metadata"]["name"]) == ("ClusterRole", "scaleproof:policies")
    assert role["rules"] == [
        {"apiGroups": ["scaleproof.dev"], "resources": ["scalingpolicies"], "verbs": ["list", "watch"]},
        {"apiGroups": ["scaleproof.dev"], "resources": ["scalingpolicies/status"], "verbs": ["patch"]},
    ]


def test_the_api_service_points_to_the_service_and_the_certificate_is_checked() -> None:
    (api_service,) = documents(MANIFESTS / "base/api-service.yaml")
    (service,) = documents(MANIFESTS / "base/service.yaml")
    assert api_service["spec"]["service"] == {
        "name": service["metadata"]["name"],
        "namespace": service["metadata"]["namespace"],
        "port": service["spec"]["ports"][0]["port"],
    }
    assert "insecureSkipTLSVerify" not in api_service["spec"]


def test_the_adapter_may_write_nowhere_but_into_memory() -> None:
    """Its root is read-only; OpenSSL loads a key from a file only, made for a moment in an emptyDir of memory."""
    (deployment,) = documents(MANIFESTS / "base/deployment.yaml")
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    writable = {each["name"]: each["mountPath"] for each in container["volumeMounts"] if not each.get("readOnly")}
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert writable == {"tmp": "/tmp"}
    assert volumes["tmp"]["emptyDir"] == {"medium": "Memory", "sizeLimit": "16Mi"}


def test_the_network_policy_lets_the_api_server_in_and_the_adapter_out_to_what_it_needs() -> None:
    """No rule for port `https` has a `from`: the API server is no pod, so no selector can name it."""
    (policy,) = documents(MANIFESTS / "base/network-policy.yaml")
    (deployment,) = documents(MANIFESTS / "base/deployment.yaml")
    monitoring = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    assert [(each.get("from"), [port["port"] for port in each["ports"]]) for each in policy["spec"]["ingress"]] == [
        (None, ["https"]),
        (monitoring, ["metrics"]),
    ]
    assert [(each.get("to"), [port["port"] for port in each["ports"]]) for each in policy["spec"]["egress"]] == [
        (None, [53, 53]),
        (None, [443, 6443]),
        (monitoring, [9090]),
    ]
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert {port["name"] for port in container["ports"]} == {"https", "metrics"}
    assert "http://prometheus-operated.monitoring.svc:9090" in container["args"]


@pytest.fixture
def rendered(cluster: Cluster) -> str:
    return cluster.kubectl("kustomize", str(MANIFESTS / "base"))


@pytest.mark.slow
def test_the_base_builds_with_kustomize_and_the_real_api_server_takes_all_of_it(
    cluster: Cluster, rendered: str
) -> None:
    """A dry run does not keep the namespace for what goes into it, so that is made first."""
    cluster.kubectl("apply", "-f", str(MANIFESTS / "base/namespace.yaml"))
    answer = cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=rendered)
    assert sorted(line.split()[0] for line in answer.splitlines()) == [
        "apiservice.apiregistration.k8s.io/v1beta1.external.metrics.k8s.io",
        "clusterrole.rbac.authorization.k8s.io/scaleproof:policies",
        "clusterrolebinding.rbac.authorization.k8s.io/scaleproof:auth-delegator",
        "clusterrolebinding.rbac.authorization.k8s.io/scaleproof:policies",
        "configmap/scaleproof-policies",
        "customresourcedefinition.apiextensions.k8s.io/scalingpolicies.scaleproof.dev",
        "deployment.apps/scaleproof",
        f"namespace/{ADAPTER_NAMESPACE}",
        "networkpolicy.networking.k8s.io/scaleproof",
        "poddisruptionbudget.policy/scaleproof",
        "rolebinding.rbac.authorization.k8s.io/scaleproof-authentication-reader",
        "service/scaleproof",
        "serviceaccount/scaleproof",
    ]


@pytest.mark.slow
def test_the_role_binding_for_the_authentication_config_map_stays_in_kube_system(rendered: str) -> None:
    """Kustomize's `namespace:` would move it, and the adapter could not learn whose certificate is the aggregator's."""
    (binding,) = (each for each in yaml.safe_load_all(rendered) if each["kind"] == "RoleBinding")
    assert binding["metadata"]["namespace"] == "kube-system"


@pytest.mark.slow
def test_the_adapters_pods_pass_the_restricted_pod_security_standard(cluster: Cluster, rendered: str) -> None:
    """The namespace enforces it: a pod of the Deployment's template is let in, one that may become root is not."""
    cluster.kubectl(
        "apply", "-f", str(MANIFESTS / "base/namespace.yaml"), "-f", str(MANIFESTS / "base/service-account.yaml")
    )
    (deployment,) = (each for each in yaml.safe_load_all(rendered) if each["kind"] == "Deployment")
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "one"},
        "spec": deployment["spec"]["template"]["spec"],
    }
    create = ("create", "--dry-run=server", f"--namespace={ADAPTER_NAMESPACE}", "-f", "-")
    assert "pod/one created" in cluster.kubectl(*create, input=json.dumps(pod))

    pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = True
    with pytest.raises(AssertionError, match="violates PodSecurity"):
        cluster.kubectl(*create, input=json.dumps(pod))


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted((MANIFESTS / "examples").glob("*.yaml")), ids=lambda path: path.stem)
def test_every_example_is_one_that_the_api_server_takes(cluster: Cluster, example: Path) -> None:
    with cluster.namespace("inference"):
        answer = cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", str(example))
    assert "horizontalpodautoscaler.autoscaling" in answer


@pytest.mark.slow
def test_the_example_hpa_keeps_its_tolerance_of_zero_on_this_kubernetes(cluster: Cluster) -> None:
    """Kubernetes before 1.35 drops the field without a word, and 10 % are ignored again."""
    with cluster.namespace("inference"):
        example = str(MANIFESTS / "examples/hpa.yaml")
        answer = cluster.kubectl("apply", "--dry-run=server", "--validate=strict", "--output=json", "-f", example)
    behavior = json.loads(answer)["spec"]["behavior"]
    assert (behavior["scaleUp"]["tolerance"], behavior["scaleDown"]["tolerance"]) == ("0", "0")
    assert behavior["scaleUp"]["stabilizationWindowSeconds"] == 0
    assert behavior["scaleDown"]["stabilizationWindowSeconds"] == 300


FLEET = """
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: fleet, namespace: inference}
spec:
  by: {model_name: [mistral-7b, llama-8b]}
  inputs:
    flight: {preset: vllm/requests-in-flight}
  terms:
    batch: {concurrency: flight, per_replica: 10}
  publish: {metric: fleet-replicas}
"""
TOTAL = """
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: llama-8b, namespace: inference}
spec:
  replicas: {preset: kube/deployment-replicas, match: {deployment: llama-8b}}
  inputs:
    flight: {preset: vllm/requests-in-flight, match: {model_name: llama-8b}}
  terms:
    batch: {concurrency: flight, per_replica: 12}
  publish: {metric: llama-8b-in-flight, as: total}
"""


@pytest.mark.parametrize(
    ("example", "policy"),
    [
        ("hpa", (MANIFESTS / "base/policies/llama-70b.yaml").read_text()),
        ("hpa-fleet", FLEET),
        ("hpa-total", TOTAL),
    ],
    ids=["hpa", "hpa-fleet", "hpa-total"],
)
def test_every_example_fits_a_policy_of_its_kind(example: str, policy: str) -> None:
    loaded, problems = read_policies(policy, example, LIBRARY)
    assert not has_errors(problems), problems
    text = (MANIFESTS / f"examples/{example}.yaml").read_text()
    assert lint_together(loaded, text, example, "1.36") == []


def test_the_shipped_policies_pass_the_check() -> None:
    """As an operator would check them, and with nothing to warn of."""
    command = [Path(sys.executable).parent / "scaleproof", "check", "--output", "json", MANIFESTS / "base/policies"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (finished.returncode, json.loads(finished.stdout)) == (0, {"problems": []})
