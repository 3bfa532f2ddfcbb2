"""HPA manifests: the verdict of the API server, with places and reasons of our own.

`manifests/verdicts.tsv` says of each file what the API server makes of it and where our findings stand; the slow test
asks the API server's own code again. `Judge` is one callable, so that a real cluster can be asked the same.
"""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest
from oracle_process import Oracle

from adapter.core.problems import Severity, has_errors
from sim.hpa.manifest import read_manifests
from sim.hpa.spec import (
    DEFAULT_DOWN,
    Behavior,
    Metric,
    MetricKind,
    Policy,
    PolicyType,
    Requirement,
    ScalingRules,
    SelectPolicy,
    Spec,
    TargetType,
)
from sim.hpa.versions import NotModelledError

MANIFESTS = Path(__file__).parent / "manifests"
FILES = sorted(MANIFESTS.glob("*.yaml"))
Judge = Callable[[str], list[str]]
"""Takes a manifest's text, gives the API server's reasons to refuse it, e.g. by `kubectl create --dry-run=server`."""


def verdicts() -> dict[str, tuple[str, list[str]]]:
    with (MANIFESTS / "verdicts.tsv").open() as lines:
        return {row["file"]: (row["verdict"], row["findings"].split()) for row in csv.DictReader(lines, delimiter="\t")}


def the_spec(name: str) -> Spec:
    [manifest], _ = read_manifests((MANIFESTS / name).read_text(), name)
    return manifest.spec()


def test_sixty_manifests_and_more_are_judged_some_good_some_bad():
    assert set(verdicts()) == {file.name for file in FILES}
    assert len(FILES) >= 60
    assert sum(verdict == "accepted" for verdict, _ in verdicts().values()) >= 25


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_the_verdict_and_the_places_of_the_findings_are_as_listed(file):
    verdict, places = verdicts()[file.name]
    manifests, problems = read_manifests(file.read_text(), file.name)
    assert [f"{found.position.line}:{found.position.column}:{found.code}" for found in problems] == places
    assert has_errors(problems) == (verdict == "refused")
    assert len(manifests) == (verdict == "accepted")
    assert all(found.fix for found in problems)


def differing_verdicts(judge: Judge) -> list[str]:
    """Files of which the judge thinks otherwise than `verdicts.tsv`, with its reasons."""
    return [
        f"{file.name}: {reasons}"
        for file in FILES
        for reasons in [judge(file.read_text())]
        if bool(reasons) != (verdicts()[file.name][0] == "refused")
    ]


@pytest.mark.slow
def test_the_api_servers_own_code_gives_the_same_verdicts():
    with Oracle("validate") as oracle:
        assert differing_verdicts(lambda text: oracle.ask({"yaml": text})["errors"]) == []


def test_defaults_are_those_of_the_api_server():
    assert the_spec("good-external-average.yaml") == Spec(
        1, 10, (Metric(MetricKind.EXTERNAL, "llama-70b-replicas", TargetType.AVERAGE_VALUE, 1000),), None
    )
    up = ScalingRules(0, SelectPolicy.MAX, (Policy(PolicyType.PODS, 4, 15), Policy(PolicyType.PERCENT, 100, 15)), None)
    down = ScalingRules(None, SelectPolicy.MAX, (Policy(PolicyType.PERCENT, 100, 15),), None)
    assert the_spec("good-behavior-empty.yaml").behavior == Behavior(up, down)
    assert the_spec("good-policies-null.yaml").behavior == Behavior(up, DEFAULT_DOWN)


def test_a_full_behavior_is_read_field_by_field():
    assert the_spec("good-behavior-full.yaml").behavior == Behavior(
        ScalingRules(0, SelectPolicy.MIN, (Policy(PolicyType.PODS, 4, 1800), Policy(PolicyType.PERCENT, 900, 1)), 0.0),
        # 0.05 is stored as 50m, and 50 × 1e-3 is 0.05.
        ScalingRules(3600, SelectPolicy.DISABLED, (Policy(PolicyType.PERCENT, 100, 15),), 0.05),
    )


def test_whole_numbers_with_a_point_are_whole_numbers():
    assert (the_spec("good-whole-floats.yaml").minimum, the_spec("good-whole-floats.yaml").maximum) == (2, 10)


def test_a_selector_keeps_its_labels_and_expressions():
    [metric] = the_spec("good-selector-expressions.yaml").metrics
    assert metric.selector == (
        Requirement("tier", "In", ("gpu",)),
        Requirement("model", "In", ("a", "b")),
        Requirement("canary", "DoesNotExist", ()),
    )
    assert metric.selects({"tier": "gpu", "model": "b"})
    assert not metric.selects({"tier": "gpu", "model": "c"})
    assert not metric.selects({"tier": "gpu", "model": "b", "canary": "yes"})
    assert Requirement("x", "NotIn", ("a",)).matches({})
    assert Requirement("x", "Exists", ()).matches({"x": ""})


def test_what_the_api_server_accepts_but_the_controller_cannot_use_always_fails():
    assert the_spec("good-selector-invalid-passes.yaml").metrics[0].target_type is None
    assert the_spec("good-object-type-does-not-fit-field.yaml").metrics[0].target_type is None
    assert the_spec("good-external-type-does-not-fit-field.yaml").metrics[0].target_type is TargetType.AVERAGE_VALUE
    assert the_spec("good-object-both-targets.yaml").metrics[0].target_type is TargetType.VALUE


BAD_SELECTORS = {
    "unknown operator": "[{key: a, operator: Gt, values: ['1']}]",
    "In without values": "[{key: a, operator: In}]",
    "Exists with a value": "[{key: a, operator: Exists, values: [b]}]",
    "bad key": "[{key: -a, operator: Exists}]",
}


@pytest.mark.parametrize("expressions", BAD_SELECTORS.values(), ids=BAD_SELECTORS)
def test_an_invalid_selector_passes_the_api_server_and_fails_in_the_controller(expressions):
    text = (MANIFESTS / "good-external-average.yaml").read_text()
    text = text.replace(
        "        name: llama-70b-replicas\n",
        f"        name: q\n        selector: {{matchExpressions: {expressions}}}\n",
    )
    [manifest], problems = read_manifests(text, "x.yaml")
    assert problems == []
    assert manifest.spec().metrics[0].target_type is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("good-resource-cpu.yaml", "Resource metrics are not modelled"),
        ("good-container-resource.yaml", "ContainerResource metrics are not modelled"),
        ("good-metrics-empty-list.yaml", "scales on cpu utilization"),
    ],
)
def test_a_metric_that_is_not_modelled_is_refused_by_name_not_as_a_bad_manifest(name, reason):
    with pytest.raises(NotModelledError, match=reason):
        the_spec(name)


def test_several_documents_give_several_hpas_and_other_kinds_are_passed_over():
    one = (MANIFESTS / "good-external-average.yaml").read_text()
    other = one.replace("llama-70b\n  namespace: inference", "mistral")
    text = f"{one}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: x}}\n---\n{other}"
    manifests, problems = read_manifests(text, "all.yaml")
    assert problems == []
    assert [(manifest.namespace, manifest.name) for manifest in manifests] == [
        ("inference", "llama-70b"),
        ("default", "mistral"),
    ]
    assert [(manifest.target_kind, manifest.target_name) for manifest in manifests] == [("Deployment", "llama-70b")] * 2
    assert [manifest.position.line for manifest in manifests] == [1, 26]


def test_all_problems_of_a_file_come_in_one_run():
    text = (MANIFESTS / "bad-target-zero.yaml").read_text().replace("minReplicas: 1", "minReplicas: 11")
    _, problems = read_manifests(text + "---\n[1]\n---\na: 1\na: 2\n", "bad.yaml")
    assert sorted((found.position.line, found.code) for found in problems) == [
        (12, "invalid"),
        (20, "invalid"),
        (22, "not-an-object"),
        (25, "duplicate-key"),
    ]


def test_a_file_without_an_hpa_and_an_hpa_of_another_version_are_problems():
    _, [problem] = read_manifests("kind: Deployment\n", "d.yaml")
    assert problem.code == "no-hpa"
    _, [problem] = read_manifests("kind: HorizontalPodAutoscaler\napiVersion: autoscaling/v1\n", "v1.yaml")
    assert (problem.code, problem.position.line, problem.position.column) == ("api-version", 2, 13)


def test_minimum_zero_needs_the_gate_and_then_an_object_or_external_metric():
    zero = (MANIFESTS / "bad-min-zero.yaml").read_text()
    assert has_errors(read_manifests(zero, "z.yaml")[1])
    assert not has_errors(read_manifests(zero, "z.yaml", scale_to_zero=True)[1])
    pods = (MANIFESTS / "good-pods-average.yaml").read_text().replace("minReplicas: 1", "minReplicas: 0")
    _, [problem] = read_manifests(pods, "z.yaml", scale_to_zero=True)
    assert problem.code == "scale-to-zero"
    _, [problem] = read_manifests(zero.replace("minReplicas: 0", "minReplicas: -2"), "z.yaml", scale_to_zero=True)
    assert "must be at least 0" in problem.message


def test_a_negative_maximum_is_refused():
    text = (MANIFESTS / "good-external-average.yaml").read_text().replace("maxReplicas: 10", "maxReplicas: -3")
    _, [problem] = read_manifests(text, "n.yaml")
    assert problem.message == "spec.maxReplicas is -3, it must be at least 1"


def test_with_the_tolerance_gate_off_a_tolerance_is_dropped_unread():
    text = (MANIFESTS / "bad-tolerance-negative.yaml").read_text()
    assert not has_errors(read_manifests(text, "t.yaml", configurable_tolerance=False)[1])


def test_a_resource_version_is_a_warning_as_kubectl_drops_it():
    text = (
        (MANIFESTS / "good-external-average.yaml")
        .read_text()
        .replace("  namespace: inference", "  resourceVersion: '7'")
    )
    [_], [problem] = read_manifests(text, "r.yaml")
    assert (problem.severity, problem.position.line, problem.position.column) == (Severity.WARNING, 5, 3)


def test_a_warning_does_not_refuse():
    [_], [problem] = read_manifests((MANIFESTS / "good-external-utilization-type.yaml").read_text(), "w.yaml")
    assert problem.severity is Severity.WARNING


METADATA = {
    "annotation key": ("annotations: {'-a': b}", "5:17:invalid"),
    "annotations too large": (f"annotations: {{a: {'x' * 262144}}}", "5:16:invalid"),
    "label key": ("labels: {a/b/c: d}", "5:12:invalid"),
    "label prefix": ("labels: {A.B/c: d}", "5:12:invalid"),
    "generateName": ("generateName: Ab-", "5:17:invalid"),
    "generation": ("generation: -1", "5:15:invalid"),
    "second finalizer": ("finalizers: [example.com/a, a b]", "5:31:invalid"),
    "finalizer": ("finalizers: [a b]", "5:16:invalid"),
    "creation time": ("creationTimestamp: yesterday", "5:22:wrong-type"),
    "a day that is none": ("creationTimestamp: 2026-02-30T00:00:00Z", "5:22:wrong-type"),
    "managed fields": ("managedFields: [{operation: 1}]", "5:31:wrong-type"),
    "owner": ("ownerReferences: [{kind: A, name: b, uid: c}]", "5:21:required"),
    "labels is a list": ("labels: [a]", "5:11:wrong-type"),
    "label is a number": ("labels: {a: 1}", "5:15:wrong-type"),
    "deletion grace": ("deletionGracePeriodSeconds: 9223372036854775808", "5:31:wrong-type"),
    "controller": ("ownerReferences: [{controller: 1}]", "5:34:wrong-type"),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_is_checked_as_the_api_server_does(name):
    line, place = METADATA[name]
    text = (MANIFESTS / "good-external-average.yaml").read_text().replace("  namespace: inference", f"  {line}")
    _, problems = read_manifests(text, "m.yaml")
    assert [f"{found.position.line}:{found.position.column}:{found.code}" for found in problems] == [place]


@pytest.mark.slow
@pytest.mark.parametrize("name", METADATA)
def test_the_api_server_refuses_that_metadata_too(name):
    text = (
        (MANIFESTS / "good-external-average.yaml")
        .read_text()
        .replace("  namespace: inference", f"  {METADATA[name][0]}")
    )
    with Oracle("validate") as oracle:
        assert oracle.ask({"yaml": text})["errors"]


SPECS = {
    "container resource without names": (
        "containerResource: {target: {type: AverageValue, averageValue: 1}}",
        "ContainerResource",
    ),
    "container resource unknown": (
        "containerResource: {name: disk, container: a, target: {type: Value, averageValue: 1}}",
        "ContainerResource",
    ),
    "resource without name": ("resource: {target: {type: AverageValue, averageValue: 1}}", "Resource"),
    "resource without target value": ("resource: {name: cpu, target: {type: Utilization}}", "Resource"),
    "resource with both": (
        "resource: {name: cpu, target: {type: Utilization, averageUtilization: 1, averageValue: 1}}",
        "Resource",
    ),
    "object without described object": ("object: {metric: {name: a}, target: {type: Value, value: 1}}", "Object"),
    "object without target value": (
        "object: {describedObject: {kind: A, name: b}, metric: {name: a}, target: {type: Value}}",
        "Object",
    ),
    "quantity is a list": ("external: {metric: {name: a}, target: {type: Value, value: [1]}}", "External"),
    "quantity is a boolean": ("external: {metric: {name: a}, target: {type: Value, value: true}}", "External"),
    "empty quantity": ("external: {metric: {name: a}, target: {type: Value, value: ''}}", "External"),
    "expressions is text": (
        "external: {metric: {name: a, selector: {matchExpressions: a}}, target: {type: Value, value: 1}}",
        "External",
    ),
    "external is text": ("external: a", "External"),
}


def with_metric(name: str) -> str:
    line, kind = SPECS[name]
    text = (MANIFESTS / "good-external-average.yaml").read_text()
    return text[: text.index("  - type")] + f"  - type: {kind}\n    {line}\n"


@pytest.mark.parametrize("name", SPECS)
def test_metrics_are_checked_as_the_api_server_does(name):
    assert has_errors(read_manifests(with_metric(name), "m.yaml")[1])


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_the_api_server_refuses_those_metrics_too(name):
    with Oracle("validate") as oracle:
        assert oracle.ask({"yaml": with_metric(name)})["errors"]
