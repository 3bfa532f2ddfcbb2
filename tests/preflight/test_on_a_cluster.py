"""`scaleproof preflight` as an operator runs it, on a real API server: before an installation, and where KEDA is."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapter_process import SCALEPROOF
from cluster import ADAPTER_NAMESPACE, API_SERVICE, Cluster
from workloads import autoscaler

BASE = Path(__file__).parents[2] / "manifests/base"


def preflight(*arguments: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Exit status, and the findings by their check."""
    command = [SCALEPROOF, "preflight", "--output=json", *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.stdout, ended.stderr
    return ended.returncode, {one["check"]: one for one in json.loads(ended.stdout)["findings"]}


@pytest.fixture
def keda(cluster: Cluster) -> Iterator[None]:
    """KEDA's APIService with nothing behind it, and an HPA of one of its ScaledObjects."""
    service = {"namespace": "keda", "name": "keda-operator-metrics-apiserver", "port": 443}
    api_service = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": API_SERVICE},
        "spec": {
            "group": "external.metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": service,
        },
    }
    hpa = autoscaler("keda-hpa-web", "s0-prometheus")
    hpa["metadata"]["labels"] = {"scaledobject.keda.sh/name": "web"}
    with cluster.namespace("shop"):
        cluster.apply(api_service, hpa, namespace="shop")
        yield
        cluster.unregister_adapter()


@pytest.mark.slow
def test_a_cluster_in_which_keda_serves_the_api_is_not_ready_and_its_hpas_are_named(
    cluster: Cluster, keda: None
) -> None:
    status, found = preflight(f"--kubeconfig={cluster.kubeconfig}", f"--policies={BASE / 'policies'}")
    assert status == 1
    assert found["kubernetes-version"]["verdict"] == "ok"
    assert found["authentication-config"]["verdict"] == "ok"
    assert found["api-service-owner"]["found"] == "KEDA's: keda/keda-operator-metrics-apiserver"
    assert found["policies"]["found"] == "1 load without a complaint"
    assert found["autoscalers"]["found"].endswith("shop/keda-hpa-web; 1 of them are KEDA's")
    assert found["metric-readers"] == {
        "check": "metric-readers",
        "looked_at": "rights of ServiceAccount kube-system/horizontal-pod-autoscaler",
        "found": "allowed: list llama-70b-replicas.external.metrics.k8s.io in inference",
        "verdict": "ok",
        "fix": "",
    }


@pytest.mark.slow
def test_the_rights_of_the_adapter_are_seen_as_soon_as_they_are_given(cluster: Cluster) -> None:
    cluster.kubectl("delete", "clusterrolebinding", "scaleproof:auth-delegator", "--ignore-not-found")
    _, before = preflight(f"--kubeconfig={cluster.kubeconfig}")
    assert before["adapter-rights"]["verdict"] == "warn"
    assert "create tokenreviews.authentication.k8s.io" in before["adapter-rights"]["found"]

    cluster.kubectl("apply", *(f"-f{BASE / name}.yaml" for name in ("namespace", "service-account", "rbac")))
    _, after = preflight(f"--kubeconfig={cluster.kubeconfig}")
    assert after["adapter-rights"]["verdict"] == "ok"


@pytest.mark.slow
def test_with_the_adapters_own_rights_what_it_may_not_read_is_a_warning(cluster: Cluster) -> None:
    """As from inside the pod, by `kubectl exec`: it may ask for reviews, and read one ConfigMap."""
    cluster.kubectl("apply", *(f"-f{BASE / name}.yaml" for name in ("namespace", "service-account", "rbac")))
    own = cluster.service_account_kubeconfig(ADAPTER_NAMESPACE, "scaleproof")
    status, found = preflight(f"--kubeconfig={own}", "--prometheus=http://127.0.0.1:9")
    assert {check: one["verdict"] for check, one in found.items()} == {
        "kubernetes-version": "ok",
        "authentication-config": "ok",
        "api-service-owner": "warn",
        "adapter-rights": "ok",
        "prometheus": "fail",
        "policies": "warn",
        "autoscalers": "warn",
    }
    assert status == 1


def test_an_api_server_that_is_not_there_fails_the_check_and_a_broken_kubeconfig_is_bad_usage(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "clusters": [{"name": "test", "cluster": {"server": "https://127.0.0.1:9"}}],
                "users": [{"name": "test", "user": {"token": "none"}}],
                "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
                "current-context": "test",
            }
        )
    )
    status, found = preflight(f"--kubeconfig={kubeconfig}")
    assert (status, set(found)) == (1, {"kubernetes-version"})
    assert "no answer" in found["kubernetes-version"]["found"]

    kubeconfig.write_text("contexts: 7")
    command = [SCALEPROOF, "preflight", f"--kubeconfig={kubeconfig}"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "give --kubeconfig FILE" in ended.stderr
    assert "Traceback" not in ended.stderr
