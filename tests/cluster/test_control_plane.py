"""The test cluster is a real one: its version, its controllers, and pods that are ready once their model has loaded."""

from datetime import datetime

import pytest
from child_process import eventually
from cluster import Cluster
from workloads import deployment

pytestmark = pytest.mark.slow


def seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def test_the_cluster_is_kubernetes_1_36_with_everything_ready(cluster: Cluster) -> None:
    assert cluster.get("/version")["gitVersion"] == "v1.36.3"
    assert cluster.response("/readyz").text == "ok"


def test_a_deployment_becomes_ready_when_its_load_time_has_passed(cluster: Cluster) -> None:
    """A load time of 3 s: created in second c, ready in second c + 3 or later, never c + 2."""
    with cluster.namespace("loading") as namespace:
        cluster.apply(deployment("llama", replicas=3, load_time="3s"), namespace=namespace)
        eventually(
            lambda: cluster.deployment(namespace, "llama")["status"].get("readyReplicas") == 3,
            "three replicas are ready",
        )
        pods = cluster.pods(namespace, "app=llama")

    assert len(pods) == 3
    for pod in pods:
        ready = next(each for each in pod["status"]["conditions"] if each["type"] == "Ready")
        assert seconds(ready["lastTransitionTime"]) - seconds(pod["metadata"]["creationTimestamp"]) >= 3


def test_a_service_account_may_do_what_its_role_says_and_no_more(cluster: Cluster) -> None:
    with cluster.namespace("tokens") as namespace:
        kubeconfig = cluster.service_account_kubeconfig(namespace, "default")
        as_account = f"--kubeconfig={kubeconfig}"
        assert f"system:serviceaccount:{namespace}:default" in cluster.kubectl(as_account, "auth", "whoami")
        with pytest.raises(AssertionError, match="Forbidden"):
            cluster.kubectl(as_account, "get", "secrets", f"--namespace={namespace}")
