"""The account through a real aggregator: `kubectl get --raw` and `scaleproof explain` as users with few rights."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from adapter_process import METRICS_PATH, SCALEPROOF, AdapterProcess
from child_process import eventually
from cluster import ADAPTER_NAMESPACE, Cluster
from control_plane import REPOSITORY, binary
from fake_prometheus import answering, fake_prometheus
from grid_policies import policy_text

pytestmark = pytest.mark.slow

BASE = REPOSITORY / "manifests/base"
TENANT = "explained-prod"
METRIC = f"{METRICS_PATH}/{TENANT}/chat-metric"


@pytest.fixture
def adapter(cluster: Cluster, tmp_path: Path) -> Iterator[AdapterProcess]:
    """An adapter behind the aggregator; the policy `chat` of the tenant publishes 70 ÷ 10 = 7 as `chat-metric`."""
    files = [f"--filename={BASE / name}" for name in ("namespace.yaml", "service-account.yaml", "rbac.yaml")]
    cluster.kubectl("apply", *files)
    kubeconfig = cluster.service_account_kubeconfig(ADAPTER_NAMESPACE, "scaleproof")
    (tmp_path / "policies").mkdir()
    text = policy_text("chat").replace("namespace: prod", f"namespace: {TENANT}")
    (tmp_path / "policies/chat.yaml").write_text(text.replace("metric: chat", "metric: chat-metric"))
    with ExitStack() as stack:
        prometheus = stack.enter_context(fake_prometheus(answering(70)))
        made = AdapterProcess(
            tmp_path,
            tmp_path / "policies",
            prometheus.url,
            cluster.serving,
            cluster.authority.certificate_file,
            client=cluster.control_plane.front_proxy if cluster.control_plane else None,
            flags=[f"--kubeconfig={kubeconfig}"],
            bind_address="127.0.0.1" if cluster.host == "localhost" else "0.0.0.0",
        )
        stack.callback(made.close)
        made.wait_ready()
        cluster.register_adapter(made.port)
        stack.callback(cluster.unregister_adapter)
        eventually(lambda: cluster.response(METRIC).ok, "the metric has a value", 30)
        stack.enter_context(cluster.namespace(TENANT))
        yield made


def user(cluster: Cluster, name: str, *rules: dict[str, Any]) -> Path:
    """A kubeconfig of a ServiceAccount of the tenant with these rules and no others."""
    metadata = {"name": name, "namespace": TENANT}
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": metadata, "rules": list(rules)}
    binding = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": metadata,
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": TENANT}],
    }
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    cluster.apply(account, role, binding, namespace=TENANT)
    return cluster.service_account_kubeconfig(TENANT, name)


def raw(kubeconfig: Path, path: str) -> subprocess.CompletedProcess[str]:
    command = [str(binary()), "kubectl", f"--kubeconfig={kubeconfig}", "get", "--raw", path]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def explain(kubeconfig: Path, name: str, *more: str) -> subprocess.CompletedProcess[str]:
    command = [str(SCALEPROOF), "explain", f"{TENANT}/{name}", f"--kubeconfig={kubeconfig}", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_who_may_list_the_metric_may_have_it_explained_and_nobody_else(
    cluster: Cluster, adapter: AdapterProcess
) -> None:
    """The verb `list` on this one metric is all that reading it takes, and all that its account takes."""
    reader = user(
        cluster,
        "reader",
        {"apiGroups": ["external.metrics.k8s.io"], "resources": ["chat-metric"], "verbs": ["list"]},
    )
    account = eventually(
        lambda: found.stdout if (found := raw(reader, f"{METRIC}?explain=true")).returncode == 0 else "",
        "the role is in force",
        30,
    )
    (signal,) = json.loads(account)["signals"]
    assert (signal["policy"], signal["value"]) == ("chat", "7")
    assert signal["why"]["terms"][0]["text"] == "load ÷ 10 = 70 ÷ 10 = 7"
    stranger = user(cluster, "stranger")
    refused = raw(stranger, f"{METRIC}?explain=true")
    assert refused.returncode == 1
    assert 'cannot list resource "chat-metric" in API group "external.metrics.k8s.io"' in refused.stderr
    # Of another namespace the reader learns nothing, whether or not there is such a metric.
    assert "cannot list" in raw(reader, f"{METRICS_PATH}/default/chat-metric?explain=true").stderr

    told = explain(reader, "chat-metric")
    assert (told.returncode, told.stderr) == (0, "")
    assert told.stdout.startswith(f"{TENANT}/chat: asks for 7, with N unknown, because term q asks for 7\n")
    denied = explain(stranger, "chat-metric")
    assert denied.returncode == 3
    assert "ask for the verb list on chat-metric of API group external.metrics.k8s.io" in denied.stderr


def test_a_policy_is_found_by_the_metric_that_its_hpa_asks_for(cluster: Cluster, adapter: AdapterProcess) -> None:
    """`chat` publishes `chat-metric`: the HPA that asks for it leads there, for who may list HPAs."""
    assert explain(cluster.kubeconfig, "chat").returncode == 2
    cluster.apply(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "chat", "namespace": TENANT},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "chat"},
                "minReplicas": 1,
                "maxReplicas": 10,
                "metrics": [
                    {
                        "type": "External",
                        "external": {
                            "metric": {"name": "chat-metric"},
                            "target": {"type": "AverageValue", "averageValue": "1"},
                        },
                    }
                ],
            },
        },
        namespace=TENANT,
    )
    found = explain(cluster.kubeconfig, "chat", "--output", "json")
    assert (found.returncode, found.stderr) == (0, "")
    assert json.loads(found.stdout)["signals"][0]["metric"] == "chat-metric"
    missing = explain(cluster.kubeconfig, "chart")
    assert missing.returncode == 2
    assert f"did you mean {TENANT}/chat-metric?" in missing.stderr or "there are" in missing.stderr


def test_a_cluster_without_the_api_says_so(cluster: Cluster) -> None:
    ended = explain(cluster.kubeconfig, "chat")
    assert ended.returncode == 3
    assert "does not serve external.metrics.k8s.io/v1beta1" in ended.stderr
