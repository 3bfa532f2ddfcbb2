"""Clients of a cluster, through the aggregator: kubectl 1.36 and Debian's 1.20, the namespace controller, and reviews.

The adapter has the rights of manifests/base and no Prometheus at all, so that a metric is an error and everything else
must work all the same.
"""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from adapter_process import METRICS_PATH, AdapterProcess
from child_process import eventually, free_port
from cluster import ADAPTER_NAMESPACE, Cluster
from control_plane import REPOSITORY, binary
from grid_policies import policy_text

pytestmark = pytest.mark.slow

BASE = REPOSITORY / "manifests/base"
DEBIAN_KUBECTL = REPOSITORY / "build/kubernetes-client/usr/bin/kubectl"
HPA = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
METRIC = f"{METRICS_PATH}/prod/a"


@pytest.fixture
def adapter(cluster: Cluster, tmp_path: Path) -> Iterator[AdapterProcess]:
    """An adapter behind the aggregator whose Prometheus cannot be reached."""
    files = [f"--filename={BASE / name}" for name in ("namespace.yaml", "service-account.yaml", "rbac.yaml")]
    cluster.kubectl("apply", *files)
    kubeconfig = cluster.service_account_kubeconfig(ADAPTER_NAMESPACE, "scaleproof")
    (tmp_path / "policies").mkdir()
    (tmp_path / "policies/a.yaml").write_text(policy_text("a"))
    with ExitStack() as stack:
        made = AdapterProcess(
            tmp_path,
            tmp_path / "policies",
            f"http://127.0.0.1:{free_port()}",
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
        yield made


def kubectl_of(program: list[str | Path], cluster: Cluster, cache: Path) -> Callable[..., subprocess.CompletedProcess]:
    """A kubectl with a discovery cache of its own, which tells its exit status and words."""

    def run(*arguments: str) -> subprocess.CompletedProcess:
        command = [*program, f"--kubeconfig={cluster.kubeconfig}", f"--cache-dir={cache}", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)

    return run


@pytest.mark.parametrize("age", ["1.36", "Debian's 1.20"])
def test_kubectl_discovers_the_api_reads_it_raw_and_asks_what_it_may(
    cluster: Cluster, adapter: AdapterProcess, tmp_path: Path, age: str
) -> None:
    program: list[str | Path] = [binary(), "kubectl"] if age == "1.36" else [DEBIAN_KUBECTL]
    kubectl = kubectl_of(program, cluster, tmp_path / "cache")
    listed = kubectl("api-resources", "--api-group=external.metrics.k8s.io", "--no-headers")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert listed.stdout.split()[0] == "externalmetrics"
    assert "external.metrics.k8s.io/v1beta1" in kubectl("api-versions").stdout.splitlines()

    raw = kubectl("get", "--raw", "/apis/external.metrics.k8s.io/v1beta1")
    assert json.loads(raw.stdout)["kind"] == "APIResourceList"
    missing = kubectl("get", "--raw", METRIC)
    assert missing.returncode == 1
    # Prometheus is down; kubectl shows the message of the Status.
    assert "ServiceUnavailable" in missing.stderr or "unavailable" in missing.stderr

    may = ("auth", "can-i", "list", "a.external.metrics.k8s.io", "--namespace=prod")
    assert kubectl(*may).stdout.strip() == "yes"
    assert kubectl(*may, "--as=nobody").stdout.strip() == "no"


def test_a_namespace_is_deleted_while_prometheus_is_down(cluster: Cluster, adapter: AdapterProcess) -> None:
    """The namespace controller asks every API what it has before a namespace goes; one that fails keeps it for ever."""
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short-lived"}})
    cluster.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kept"}}, namespace="short-lived")
    assert cluster.response(METRIC).status_code == 503
    cluster.kubectl("delete", "namespace", "short-lived", "--timeout=55s")
    assert cluster.response("/api/v1/namespaces/short-lived").status_code == 404


def reviews(cluster: Cluster) -> float:
    """How many SubjectAccessReviews the API server has answered since it started."""
    name, resource = "apiserver_request_total{", 'resource="subjectaccessreviews"'
    lines = cluster.response("/metrics", "text/plain").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith(name) and resource in line)


def grant(cluster: Cluster, user: str) -> None:
    """Let the user list the metric."""
    group = "rbac.authorization.k8s.io"
    rule = {"apiGroups": ["external.metrics.k8s.io"], "resources": ["a"], "verbs": ["list"]}
    cluster.apply(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": user}, "rules": [rule]},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": user},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": user},
            "subjects": [{"kind": "User", "name": user, "apiGroup": group}],
        },
        namespace="prod",
    )


def test_two_thousand_gets_of_one_user_cost_the_api_server_three_reviews_in_twenty_seconds_at_most(
    cluster: Cluster, adapter: AdapterProcess
) -> None:
    """Straight to the adapter as the front proxy, since the aggregator would authorize each of them by itself."""
    if cluster.control_plane is None:
        pytest.skip("the key of a named cluster's front proxy is not at hand")
    grant(cluster, "many-gets")
    eventually(lambda: adapter.get(METRIC, "many-gets", "team").status_code == 503, "the right is seen", 30)
    before, began = reviews(cluster), time.monotonic()
    for number in range(2000):
        time.sleep(max(0.0, began + number * 0.0099 - time.monotonic()))
        assert adapter.get(METRIC, "many-gets", "team").status_code == 503
    assert reviews(cluster) - before <= 3
    print(f"2,000 GETs in {time.monotonic() - began:.1f} s, {reviews(cluster) - before:.0f} reviews")


def test_a_right_that_is_given_counts_within_twelve_seconds(cluster: Cluster, adapter: AdapterProcess) -> None:
    if cluster.control_plane is None:
        pytest.skip("the key of a named cluster's front proxy is not at hand")
    assert adapter.get(METRIC, "newcomer", "team").status_code == 403
    grant(cluster, "newcomer")
    eventually(lambda: adapter.get(METRIC, "newcomer", "team").status_code == 503, "the new right counts", 12)
