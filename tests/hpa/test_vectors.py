"""The model against recorded decisions of the real controller, and the command that compares them."""

import contextlib
import gzip
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from adapter.cli import app
from sim.hpa.conformance import Report, compare_vector
from sim.hpa.scenarios import ScenarioError, read_scenario, run_scenario
from sim.hpa.versions import find_version

VECTORS = Path(__file__).parent / "vectors"
FILES = sorted([*VECTORS.glob("*.jsonl"), *VECTORS.glob("*.jsonl.gz")])


def lines_of(file: Path) -> list[dict]:
    text = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
    return [json.loads(line) for line in text.splitlines()]


def conformance(*arguments: object):
    return CliRunner().invoke(app, ["conformance", *map(str, arguments)])


def write(file: Path, *vectors: object) -> Path:
    file.write_text("".join(json.dumps(vector) + "\n" for vector in vectors))
    return file


@pytest.fixture
def vector() -> dict:
    return next(
        vector for vector in lines_of(VECTORS / "named.jsonl") if vector["scenario"]["name"] == "percent-down-policy"
    )


def test_no_field_of_any_carried_vector_differs():
    vectors = [vector for file in FILES for vector in lines_of(file)]
    steps = sum(len(vector["result"]["steps"]) for vector in vectors)
    result = conformance(*FILES)
    assert result.exit_code == 0, result.output
    assert result.output.splitlines()[-1] == f"scenarios {len(vectors)} steps {steps} mismatches 0"
    assert steps > 20_000


def test_enough_vectors_of_every_kind_are_carried():
    tags = Counter(tag for file in FILES for vector in lines_of(file) for tag in vector["scenario"].get("tags", []))
    assert len(lines_of(VECTORS / "named.jsonl")) == 46
    assert len(lines_of(VECTORS / "public.jsonl.gz")) >= 300
    assert min(tags[tag] for tag in ("object", "pods", "hpaEdit", "scaleErrors")) >= 8
    assert all(count >= 20 for tag, count in tags.items() if tag not in ("object", "pods", "hpaEdit", "scaleErrors")), (
        tags
    )


BY_HAND = [*lines_of(VECTORS / "named.jsonl"), *lines_of(VECTORS / "corners.jsonl")]


@pytest.mark.parametrize("vector", BY_HAND, ids=lambda vector: vector["scenario"]["name"])
def test_replica_counts_worked_out_by_hand_come_out(vector):
    steps = list(run_scenario(read_scenario(vector["scenario"], find_version("1.36")), with_account=False))
    got = {step: steps[int(step)].decision.replicas for step in vector["scenario"]["expect"]}
    assert got == vector["scenario"]["expect"]


def test_a_difference_is_shown_with_step_field_values_and_the_models_own_account(tmp_path, vector):
    vector["result"]["steps"][0]["specReplicas"] = 91
    vector["result"]["steps"][2]["conditions"]["ScalingLimited"] = ["True", "TooFewReplicas"]
    result = conformance(write(tmp_path / "v.jsonl", vector))
    assert result.exit_code == 1
    assert result.output.splitlines() == [
        f"{tmp_path}/v.jsonl:1: percent-down-policy step 0: specReplicas",
        "    expected  91",
        "    got       90",
        "    account   current 100: metrics",
        "    account   metric q: usage 10000m, ratio 0.01 -> 1",
        "    account   proposal 1 from q",
        "    account   want 1, stabilized 1 (recommendations 1..1)",
        "    account   bound 90 by Percent 10/60s, limited: ScaleDownLimit",
        "    account   final 90: SucceededRescale",
        f"{tmp_path}/v.jsonl:1: percent-down-policy step 2: conditions.ScalingLimited",
        '    expected  ["True", "TooFewReplicas"]',
        '    got       ["True", "ScaleDownLimit"]',
        "    account   current 90: metrics",
        "    account   metric q: usage 10000m, ratio 0.011111111111111112 -> 1",
        "    account   proposal 1 from q",
        "    account   want 1, stabilized 1 (recommendations 1..1)",
        "    account   bound 90 by Percent 10/60s, limited: ScaleDownLimit",
        "    account   final 90: ReadyForNewScale",
        "scenarios 1 steps 9 mismatches 2",
    ]


def test_a_missing_and_a_surplus_field_and_step_are_differences(tmp_path, vector):
    del vector["result"]["steps"][0]["metric"]
    vector["result"]["steps"][1]["surplus"] = 1
    del vector["result"]["steps"][8]
    result = conformance(write(tmp_path / "v.jsonl", vector), "--output", "json")
    report = json.loads(result.output)
    assert (report["scenarios"], report["steps"], report["mismatches"]) == (1, 8, 3)
    assert [(found["step"], found["field"]) for found in report["differences"]] == [
        (0, "metric"),
        (1, "surplus"),
        (8, "step"),
    ]
    assert report["differences"][0]["file"] == str(tmp_path / "v.jsonl")
    assert report["differences"][0]["line"] == 1
    assert report["differences"][1]["expected"] == 1
    assert report["differences"][1]["got"] is None


def test_no_more_differences_are_shown_than_asked_for(tmp_path, vector):
    for step in vector["result"]["steps"]:
        step["specReplicas"] = 1
    result = conformance(write(tmp_path / "v.jsonl", vector), "--show", "1")
    assert "… 8 more differing fields; --show N shows them" in result.output
    assert result.output.count("expected") == 1


def test_a_kind_that_is_not_modelled_is_counted_apart_and_makes_the_status_3(tmp_path, vector):
    resource = json.loads(json.dumps(vector))
    resource["scenario"]["hpa"]["metrics"][0]["type"] = "Resource"
    gate = json.loads(json.dumps(vector))
    gate["scenario"]["featureGates"] = {"HPAGeneration": True}
    field = json.loads(json.dumps(vector))
    field["scenario"]["steps"][3]["clockSkew"] = 1
    result = conformance(write(tmp_path / "v.jsonl", vector, resource, gate, field))
    assert result.exit_code == 3
    assert result.output.splitlines() == [
        "unmodelled 1: Resource metrics are not modelled; External, Object and Pods are",
        "unmodelled 1: the feature gate HPAGeneration is not modelled",
        'unmodelled 1: the step field "clockSkew" is not modelled',
        "scenarios 1 steps 9 mismatches 0",
    ]
    report = json.loads(conformance(tmp_path / "v.jsonl", "--output", "json").output)
    assert report["unmodelled"] == 3


def test_nothing_to_compare_is_inconclusive(tmp_path):
    (tmp_path / "empty.jsonl").write_text("\n")
    assert conformance(tmp_path / "empty.jsonl").exit_code == 3


def test_another_version_says_that_it_is_not_verified(vector, tmp_path):
    result = conformance(write(tmp_path / "v.jsonl", vector), "--kubernetes", "1.35")
    assert result.output.splitlines()[-2:] == [
        "Kubernetes 1.35, not verified against a controller",
        "scenarios 1 steps 9 mismatches 0",
    ]
    assert (
        json.loads(conformance(tmp_path / "v.jsonl", "--kubernetes", "1.35", "--output", "json").output)["verified"]
        is False
    )


def test_an_unknown_version_is_refused_by_name(vector, tmp_path):
    result = conformance(write(tmp_path / "v.jsonl", vector), "--kubernetes", "1.32")
    assert result.exit_code == 2
    assert 'Kubernetes "1.32" is not modelled; there are 1.35, 1.36, 1.37' in result.output


def test_an_hpa_that_the_api_server_refuses_has_to_be_refused(tmp_path, vector):
    vector["result"] = {"invalid": ["spec.maxReplicas: Required value"]}
    accepted = conformance(write(tmp_path / "v.jsonl", vector))
    assert accepted.exit_code == 1
    assert "percent-down-policy: invalid" in accepted.output
    vector["scenario"]["hpa"]["maxReplicas"] = 0
    refused = conformance(write(tmp_path / "v.jsonl", vector))
    assert refused.output.splitlines() == ["scenarios 1 steps 0 mismatches 0"]


BAD_LINES = {
    "not JSON": "{",
    "not an object": "[1]",
    "no result": '{"scenario": {"hpa": {}, "steps": []}}',
    "scenario is a list": '{"scenario": [], "result": {"steps": []}}',
    "steps is an object": '{"scenario": {"hpa": {}, "steps": {}}, "result": {"steps": []}}',
    "result steps hold numbers": '{"scenario": {"hpa": {}, "steps": []}, "result": {"steps": [1]}}',
}


@pytest.mark.parametrize("text", BAD_LINES.values(), ids=BAD_LINES)
def test_bad_input_ends_with_status_2_and_its_place(tmp_path, vector, text):
    file = write(tmp_path / "v.jsonl", vector)
    file.write_text(file.read_text() + text + "\n")
    result = conformance(file)
    assert result.exit_code == 2
    assert f"{file}:2: " in result.output


BAD_FIELDS = {
    "initialReplicas": ("one", "initialReplicas is not a whole number (int32)"),
    "controller": ({"tolerance": "x"}, "tolerance is not a number"),
    "featureGates": (["HPAScaleToZero"], "featureGates is not an object of true and false"),
    "hpa": ({"maxReplicas": 1, "metrics": {"q": 1}}, "metrics of the hpa is not a list"),
}


@pytest.mark.parametrize("name", BAD_FIELDS)
def test_a_field_of_the_wrong_type_is_named(tmp_path, vector, name):
    value, message = BAD_FIELDS[name]
    vector["scenario"][name] = value
    result = conformance(write(tmp_path / "v.jsonl", vector))
    assert result.exit_code == 2
    assert message in result.output


def test_metrics_that_are_no_object_are_bad_input_and_an_unknown_target_type_is_not_modelled(tmp_path, vector):
    vector["scenario"]["steps"][0]["metrics"] = ["q"]
    assert conformance(write(tmp_path / "v.jsonl", vector)).exit_code == 2
    vector["scenario"]["hpa"]["metrics"][0]["targetType"] = "Utilization"
    result = conformance(write(tmp_path / "v.jsonl", vector))
    assert result.exit_code == 3
    assert 'the target type "Utilization" is not modelled' in result.output


READINGS = {
    "text": "one",
    "labels": [{"value": 1, "labels": ["a"]}],
    "boolean item": [True],
    "no quantity": ["1 GiB"],
    "beyond int64": [2**63],
}


@pytest.mark.parametrize("reading", READINGS.values(), ids=READINGS)
def test_a_reading_that_is_none_is_bad_input(tmp_path, vector, reading):
    vector["scenario"]["steps"][0]["metrics"]["q"] = reading
    assert conformance(write(tmp_path / "v.jsonl", vector)).exit_code == 2


def places(value: object, path: tuple = ()) -> list[tuple]:
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, child in children for deeper in places(child, (*path, key)))]


JUNK = [None, True, -1, 2**70, 1.5, 1e300, float("inf"), "", "x", [], [None], [[]], {}, {"a": 1}]


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_damaged_vector_is_bad_input_or_a_difference_and_never_a_crash(data):
    damaged = json.loads(json.dumps(data.draw(st.sampled_from(BY_HAND))))
    path = data.draw(st.sampled_from([place for place in places(damaged) if place and place[0] == "scenario"]))
    parent = damaged
    for key in path[:-1]:
        parent = parent[key]
    parent[path[-1]] = data.draw(st.sampled_from(JUNK))
    report = Report()
    with contextlib.suppress(ScenarioError):
        compare_vector(damaged, find_version("1.36"), report)
        assert report.scenarios + sum(report.unmodelled.values()) == 1


def test_files_that_cannot_be_read_are_bad_input(tmp_path):
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b"{}\n" * 1000)[:-9])
    (tmp_path / "plain.jsonl.gz").write_text("{}\n")
    for file in ("absent.jsonl", "cut.jsonl.gz", "plain.jsonl.gz"):
        result = conformance(tmp_path / file)
        assert result.exit_code == 2, file
        assert f"{tmp_path}/{file}:1: " in result.output
