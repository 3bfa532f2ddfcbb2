"""ScalingPolicies through a real API server: made, refused, edited, deleted, and while the adapter is down."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from adapter_process import AdapterProcess
from child_process import eventually
from cluster import Cluster
from fake_prometheus import answering, failing
from scaling_policy import condition, get, policy_object, put

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def namespace(cluster: Cluster, kubeconfig: Path) -> Iterator[str]:
    with cluster.namespace("prod") as made:
        yield made


@pytest.fixture
def prod(cluster: Cluster, namespace: str) -> Iterator[str]:
    """The namespace, whose policies are gone before the next test begins."""
    yield namespace
    cluster.kubectl("delete", "scalingpolicies", "--all", f"--namespace={namespace}")


def values(adapter: AdapterProcess) -> dict[str, str | None]:
    """The values that are served, by policy."""
    return {one["policy"]: one["value"] for one in adapter.explain()}


def served(adapter: AdapterProcess, name: str, value: str | None) -> None:
    eventually(lambda: values(adapter).get(name, "absent") == value, f"{name} is {value}; {adapter.child.output(3000)}")


def shows(cluster: Cluster, name: str, kind: str, reason: str) -> str:
    """Wait until a condition has the reason; its message."""

    def message() -> str | None:
        found = condition(get(cluster, name), kind)
        return found[2] if found[1] == reason else None

    return eventually(message, f"{name} shows {kind} {reason}: {get(cluster, name).get('status')}", 40)


def test_a_policy_made_with_kubectl_is_served_and_shows_its_value(cluster, kubeconfig, prod, start) -> None:
    adapter = start(kubeconfig)
    put(cluster, policy_object("made"))
    served(adapter, "made", "7")  # 70 ÷ 10
    assert shows(cluster, "made", "Active", "Signal") == "7: term batch: U 7, N unknown"
    item = get(cluster, "made")
    assert condition(item, "Accepted")[:2] == ("True", "Accepted")
    assert (item["status"]["observedGeneration"], item["status"]["value"]) == (1, "7")
    head, row = cluster.kubectl("get", "spol", "made", "--namespace=prod").splitlines()
    assert head.split() == ["NAME", "VALUE", "REPLICAS", "METRIC", "ACCEPTED", "SIGNAL", "AGE"]
    assert row.split()[:5] == ["made", "7", "made", "True", "Signal"]  # no replicas: the policy names none


def test_an_unknown_key_is_kept_by_the_api_server_and_told_by_name(cluster, kubeconfig, prod, start) -> None:
    """Pruned, `per_replcia` would vanish without a word and the policy would run without it."""
    adapter = start(kubeconfig)
    put(cluster, policy_object("typo").replace("unit: count", "unit: count, max_aeg: 30s"))
    message = shows(cluster, "typo", "Accepted", "Invalid")
    assert message == (
        'spec.inputs.queue.max_aeg: unknown key "max_aeg" in spec.inputs.queue [unknown-key]; did you mean max_age?\n'
        "No accepted version of it is known, so nothing is in force."
    )
    assert condition(get(cluster, "typo"), "Active")[:2] == ("False", "NotInForce")
    assert values(adapter) == {}
    assert "scaleproof_policy_reload_errors_total 1.0" in adapter.own_metrics()

    put(cluster, policy_object("typo"))
    served(adapter, "typo", "7")
    shows(cluster, "typo", "Accepted", "Accepted")


def test_an_edit_that_is_refused_leaves_the_last_accepted_version_in_force_also_over_a_restart(
    cluster, kubeconfig, prod, start
) -> None:
    adapter = start(kubeconfig)
    put(cluster, policy_object("edited"))
    served(adapter, "edited", "7")
    put(cluster, policy_object("edited", per_replica=5))
    served(adapter, "edited", "14")
    eventually(lambda: get(cluster, "edited").get("status", {}).get("observedGeneration") == 2, "generation 2 is seen")

    put(cluster, policy_object("edited").replace("concurrency: queue", "concurrency: quue"))
    message = shows(cluster, "edited", "Accepted", "Invalid")
    assert message.splitlines() == [
        'spec.terms.batch.concurrency: no input is called "quue" [unknown-input]; did you mean queue?',
        "The last accepted version, generation 2, stays in force.",
    ]
    item = get(cluster, "edited")
    assert (item["status"]["observedGeneration"], item["status"]["inForce"]["generation"]) == (3, 2)
    assert condition(item, "Active")[0] == "True"
    served(adapter, "edited", "14")

    adapter.kill()
    adapter.launch()
    adapter.wait_ready()
    served(adapter, "edited", "14")
    put(cluster, policy_object("edited", per_replica=2))
    served(adapter, "edited", "35")
    shows(cluster, "edited", "Accepted", "Accepted")
    assert "inForce" not in get(cluster, "edited")["status"]


def test_what_happens_while_the_adapter_is_down_is_found_when_it_is_back(cluster, kubeconfig, prod, start) -> None:
    adapter = start(kubeconfig)
    put(cluster, policy_object("stays"), policy_object("goes"), policy_object("breaks"))
    for name in ("stays", "goes", "breaks"):
        served(adapter, name, "7")
        shows(cluster, name, "Active", "Signal")
    adapter.kill()
    cluster.kubectl("delete", "spol", "goes", "--namespace=prod")
    put(cluster, policy_object("comes"))
    put(cluster, policy_object("breaks").replace("concurrency: queue", "concurrency: quue"))
    adapter.launch()
    adapter.wait_ready()
    served(adapter, "comes", "7")
    served(adapter, "stays", "7")
    assert set(values(adapter)) == {"comes", "stays"}
    # Nobody was there to see which version had been accepted.
    assert "nothing is in force" in shows(cluster, "breaks", "Accepted", "Invalid")

    cluster.kubectl("delete", "spol", "stays", "--namespace=prod")
    eventually(lambda: set(values(adapter)) == {"comes"}, "the deleted policy is gone")


def test_a_signal_that_goes_is_told_with_its_reason(cluster, kubeconfig, prod, start, prometheus) -> None:
    start(kubeconfig)
    put(cluster, policy_object("lost"))
    shows(cluster, "lost", "Active", "Signal")
    prometheus.default = failing(500)
    message = shows(cluster, "lost", "Active", "UpstreamError")
    assert message.startswith("upstream-error: ")
    assert "value" not in get(cluster, "lost")["status"]
    prometheus.default = answering(30)
    shows(cluster, "lost", "Active", "Signal")
    assert get(cluster, "lost")["status"]["value"] == "3"


def test_a_file_and_an_older_object_hold_a_metric_against_a_newer_object(
    cluster, kubeconfig, prod, start, tmp_path
) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "a.yaml").write_text(policy_object("file", metric="m"))
    adapter = start(kubeconfig, folder)
    put(cluster, policy_object("second", metric="M"))
    message = shows(cluster, "second", "Accepted", "Conflicted")
    assert message.startswith('the metric "M" is published twice in prod, first in ')
    assert "a.yaml:13:21 [duplicate-metric]" in message
    assert message.endswith("\nIt is not in force.")
    served(adapter, "file", "7")
    (folder / "a.yaml").unlink()
    served(adapter, "second", "7")
    shows(cluster, "second", "Accepted", "Accepted")


def test_two_adapters_write_a_status_once(cluster, kubeconfig, prod, start, tmp_path) -> None:
    """Each finds what its neighbour wrote, or writes the same, which the API server takes for no change."""
    both = [start(kubeconfig, name=name) for name in ("one", "two")]
    put(cluster, policy_object("shared"))
    for adapter in both:
        served(adapter, "shared", "7")
    shows(cluster, "shared", "Active", "Signal")
    version = get(cluster, "shared")["metadata"]["resourceVersion"]
    # A third adapter that starts knows less than what stands there, and lets it be.
    third = start(kubeconfig, name="three")
    served(third, "shared", "7")
    eventually(lambda: third.own_metrics().count("scaleproof_evaluation_seconds_count"), "it has evaluated")
    assert get(cluster, "shared")["metadata"]["resourceVersion"] == version
    written = [re.search(r'status_writes_total\{outcome="written"\} (\S+)', one.own_metrics()) for one in both]
    # Starting, then the signal: two turns, and at worst each adapter wrote each of them.
    assert 1 <= sum(float(one.group(1)) for one in written if one) <= 4


def test_statuses_are_not_written_where_that_is_switched_off(cluster, kubeconfig, prod, start) -> None:
    adapter = start(kubeconfig, None, "--scaling-policies-status=false")
    put(cluster, policy_object("quiet"))
    served(adapter, "quiet", "7")
    assert "status" not in get(cluster, "quiet")
    assert "status_writes_total{" not in adapter.own_metrics()
