"""What a real API server takes of a ScalingPolicy as it is, and what it refuses before the adapter has to."""

import json
from pathlib import Path
from typing import Any

import pytest
from cluster import Cluster
from policy_world import LIBRARY
from scaling_policy import policy_object

from adapter.core.documents import read_documents
from adapter.core.policy_reading import read_policies
from adapter.core.problems import has_errors

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SHIPPED = [*sorted((ROOT / "policies").glob("*.yaml")), ROOT / "tests/policy/llama-70b.yaml"]


def documents() -> list[dict[str, Any]]:
    found = []
    for path in SHIPPED:
        read, problems = read_documents(path.read_text(), path.name)
        assert problems == []
        found += [one.value for one in read if isinstance(one.value, dict) and one.value["kind"] == "ScalingPolicy"]
    return found


@pytest.fixture(scope="module")
def namespace(cluster: Cluster, kubeconfig: Path) -> Any:
    with cluster.namespace("prod") as name:
        yield name


def dry_run(cluster: Cluster, text: str) -> dict[str, Any]:
    answer = cluster.kubectl("create", "--namespace=prod", "--dry-run=server", "-o", "json", "-f", "-", input=text)
    found: dict[str, Any] = json.loads(answer)
    return found


def test_every_shipped_policy_is_taken_and_comes_back_as_it_was_written(cluster: Cluster, namespace: str) -> None:
    """Nothing is dropped, and no default is added."""
    shipped = documents()
    assert len(shipped) >= 3
    for one in shipped:
        one["metadata"]["namespace"] = namespace
        assert dry_run(cluster, json.dumps(one))["spec"] == one["spec"], one["metadata"]["name"]


# What stands in a good policy, what to write instead, and words of the refusal.
REFUSED = {
    "duration": ("every: 1s", "every: soon", "spec.every in body should match"),
    "number-for-a-duration": ("every: 1s", "every: 1", 'must be of type string: "integer"'),
    "negative": ("per_replica: 10", "per_replica: -1", "per_replica in body should be greater than 0"),
    "unit": ("unit: count", "unit: pounds", 'Unsupported value: "pounds"'),
    "missing-word": ("unit: count", "unit: count, missing: ignore", "spec.inputs.queue.missing in body should match"),
    "no-unit": (", unit: count", "", "spec.inputs.queue.unit: Required value"),
    "no-target": (
        "concurrency: queue, per_replica: 10",
        "utilization: queue",
        "spec.terms.batch.target: Required value",
    ),
    "no-source": ("query: load, ", "", "name exactly one of preset, query"),
    "two-sources": ("query: load", "query: load, preset: dcgm/engine-active", "name exactly one of preset, query"),
    "two-rules": (
        "concurrency: queue",
        "concurrency: queue, backlog: queue",
        "name exactly one of throughput, backlog",
    ),
    "metric": ("metric: p", "metric: a b", "spec.publish.metric in body should match"),
    "publish-as": ("metric: p", "metric: p, as: pods", 'Unsupported value: "pods"'),
    "no-terms": ("batch: {concurrency: queue, per_replica: 10}", "{}", "spec.terms in body should have at least 1"),
    "no-spec": ("spec:", "spec: {}\nother:", "spec.publish: Required value"),
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED.keys())
def test_what_a_schema_can_refuse_is_refused_with_the_field(
    cluster: Cluster, namespace: str, change: tuple[str, str, str]
) -> None:
    old, new, words = change
    good = policy_object("p")
    assert old in good
    text = good.replace(old, new)
    assert has_errors(read_policies(text, "p.yaml", LIBRARY)[1]), "check refuses it too"
    with pytest.raises(AssertionError) as refused:
        dry_run(cluster, text)
    assert words in str(refused.value)


TAKEN = {
    "two-targets": ("per_replica: 10", "per_replica: {up: 10, down: 5}"),
    "missing-rule": ("unit: count", "unit: count, missing: {hold: 5s}"),
    "no-offset": ("offset: 2s", "offset: 0"),
    "by-list": ("  inputs:", "  by: [model_name]\n  inputs:"),
    "by-values": ("  inputs:", "  by: {model_name: [a, b]}\n  inputs:"),
    "combine": ("  publish:", "  combine: {weighted: {batch: 1}}\n  publish:"),
    "shape": ("per_replica: 10", "per_replica: 10, shape: {down: {window: 5s, take: 0.9}}"),
}


@pytest.mark.parametrize("change", TAKEN.values(), ids=TAKEN.keys())
def test_a_field_of_several_forms_is_taken_in_each(cluster: Cluster, namespace: str, change: tuple[str, str]) -> None:
    good = policy_object("p")
    assert change[0] in good
    text = good.replace(*change)
    written, _ = read_documents(text, "p.yaml")
    assert isinstance(written[0].value, dict)
    assert not has_errors(read_policies(text, "p.yaml", LIBRARY)[1])
    assert dry_run(cluster, text)["spec"] == written[0].value["spec"]
