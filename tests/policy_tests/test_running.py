"""Tests of a small policy: 10 requests in flight are one replica's, rows 15 s apart, seen 18 s later at a tick.

A row at 300 s is seen by the tick of 330 s (312 s are asked for, and the row of 300 s is the newest then).
"""

import json
from pathlib import Path

import pytest
from policy_folders import write_policy, write_tests
from typer.testing import CliRunner

from adapter.cli import app

RISE = """\
- name: the load doubles
  replicas: 3
  series: {flight: "30x19 60x20"}
  expect:
  - {at: 5m, signal: 3, replicas: 3}
  - {at: 5m30s, signal: 6, replicas: 6, decision: SucceededRescale}
  - {within: [5m, 8m], ready: 6}
  - {always: "replicas >= 3 && signal <= 6"}
  - {never: "missing > 0"}
  - {sometimes: "up > 5 && n == 3"}
  scores: ["rescales == 1", "flaps == 0", "most_replicas == 6"]
"""


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["test", *map(str, arguments)])
    return result.exit_code, result.stdout, result.stderr


def verdicts(path: Path, *arguments: str) -> tuple[int, list[tuple[int, str, str]]]:
    """The exit status, and of each expectation its line, verdict and what was found."""
    status, output, errors = run(path, "--output", "json", *arguments)
    assert not errors
    tests = json.loads(output)["files"][0]["tests"]
    return status, [(one["line"], one["verdict"], one["actual"]) for test in tests for one in test["expectations"]]


def test_every_kind_of_expectation_passes_where_the_run_does_so(tmp_path: Path) -> None:
    path = write_tests(write_policy(tmp_path), RISE)
    status, found = verdicts(path)
    assert (status, [verdict for _, verdict, _ in found]) == (0, ["pass"] * 9)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [
        ("{at: 5m, replicas: 4}", "replicas 3"),
        ("{at: 5m, signal: {min: 3.1, max: 4}}", "signal 3"),
        (
            "{at: 5m30s, replicas: 6, decision: ScaleDownLimit}",
            "replicas 6, SucceededRescale, ValidMetricFound, DesiredWithinRange",
        ),
        ("{at: 5m, missing: stale}", "signal 3"),
        ('{always: "replicas == 3"}', "at 5m30s: replicas 6"),
        ('{never: "signal > 5"}', "at 5m30s: signal 6"),
        ('{within: [1m, 5m], sometimes: "replicas > 3"}', "at no sync; last replicas 3, signal 3"),
        ("{within: [1m, 5m], replicas: 6}", "at no sync; last replicas 3"),
    ],
)  # fmt: skip
def test_what_does_not_hold_fails_with_what_was_found_and_its_line(tmp_path: Path, expected: str, actual: str) -> None:
    start = RISE.split("  expect:")[0]
    path = write_tests(write_policy(tmp_path), f"{start}  expect:\n  - {expected}\n")
    assert verdicts(path) == (1, [(8, "fail", actual)])


def test_a_score_beyond_its_threshold_fails_with_its_value(tmp_path: Path) -> None:
    start = RISE.split("  expect:")[0]
    path = write_tests(write_policy(tmp_path), f'{start}  scores: ["most_replicas <= 5"]\n')
    assert verdicts(path) == (1, [(7, "fail", "most_replicas 6")])


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        ("{at: 1h, replicas: 3}", "the run is from 30s to 10m15s"),
        ("{within: [9m, 20m], replicas: 6}", "the run is from 30s to 10m15s"),
        ('{always: "signal > 0"}', "it could be told at no sync"),
    ],
)
def test_what_the_run_cannot_tell_is_inconclusive(tmp_path: Path, expected: str, words: str) -> None:
    series = "_x38 1" if "always" in expected else "30x38"
    test = f'- name: a\n  replicas: 3\n  series: {{flight: "{series}"}}\n'
    fault = "  faults: [{kind: outage, at: 0s, for: 1h}]\n" if "always" in expected else ""
    status, found = verdicts(write_tests(write_policy(tmp_path), f"{test}{fault}  expect: [{expected}]\n"))
    assert (status, found[0][1]) == (3, "inconclusive")
    assert found[0][2].startswith(words.split(" to ")[0])


def test_a_trace_that_lacks_an_input_makes_the_test_inconclusive(tmp_path: Path) -> None:
    folder = write_policy(tmp_path)
    policy = (
        (folder / "chat.yaml")
        .read_text()
        .replace("flight: {query", "other: {query: other, unit: count}, flight: {query")
    )
    (folder / "chat.yaml").write_text(
        policy.replace("terms: {", "terms: {more: {concurrency: other, per_replica: 5}, ")
    )
    status, found = verdicts(write_tests(folder, RISE))
    assert (status, found[-1][1:]) == (3, ("inconclusive", "the trace has no other"))


def test_each_kind_of_fault_does_what_it_says(tmp_path: Path) -> None:
    """30 in flight, 3 replicas; faults from 5 min on, each seen from the first tick in it, at 5 min 0 s."""
    reasons = {"outage": "upstream-error", "nan": "not-a-number", "empty": "empty", "slow": "upstream-timeout"}
    text = ""
    for kind, reason in reasons.items():
        text += f'- name: {kind}\n  replicas: 3\n  series: {{flight: "30x60"}}\n'
        text += f"  faults: [{{kind: {kind}, inputs: [flight], at: 5m, for: 2m}}]\n"
        text += f"  expect: [{{at: 6m, replicas: 3, missing: {reason}}}, {{at: 10m, signal: 3}}]\n"
    text += '- name: read as zero\n  replicas: 3\n  series: {flight: "30x60"}\n'
    text += "  faults: [{kind: outage-read-as-zero, at: 5m, for: 2m}]\n"
    text += "  expect: [{at: 6m, signal: 0, replicas: 3}, {at: 10m, signal: 3, replicas: 3}]\n"
    text += '- name: edited\n  replicas: 3\n  series: {flight: "30x60"}\n'
    text += "  faults: [{kind: scale-edit, replicas: 8, at: 5m10s}]\n"
    text += "  expect: [{at: 5m15s, replicas: 3, decision: SucceededRescale}]\n"
    text += '- name: unwritable\n  replicas: 3\n  series: {flight: "60x60"}\n'
    text += "  faults: [{kind: scale-unwritable, at: 0s, for: 5m}]\n"
    text += "  expect: [{at: 4m, replicas: 3, decision: FailedUpdateScale}, {at: 5m15s, replicas: 6}]\n"
    text += '- name: restarted adapter\n  replicas: 3\n  series: {flight: "30x60"}\n'
    text += "  faults: [{kind: adapter-restart, at: 5m, for: 1m}]\n"
    text += "  expect: [{at: 5m30s, missing: any, replicas: 3}, {at: 7m, signal: 3}]\n"
    path = write_tests(write_policy(tmp_path), text)
    status, output, _ = run(path)
    assert status == 0, output


def test_amnesia_a_low_sample_after_an_outage_longer_than_the_window_takes_nothing_away(tmp_path: Path) -> None:
    """
    Ten replicas, 100 in flight; the source is gone for 315 s, then the first scrape finds 20, the next 100 again. The
    HPA's window of 300 s has run out in the outage: a plain HPA on the raw number goes 10 → 2 at once. The policy
    holds until five good ticks are in.
    """
    samples = "100x20 _x20 20 100x40"
    test = f'- name: amnesia\n  replicas: 10\n  series: {{flight: "{samples}"}}\n'
    faults = "  faults: [{kind: outage, at: 5m, for: 315s}]\n"
    held = write_tests(write_policy(tmp_path / "held"), f'{test}{faults}  expect: [{{always: "replicas == 10"}}]\n')
    assert run(held)[0] == 0
    plain = write_policy(tmp_path / "plain")
    (plain / "plain.test.yaml").write_text(
        "apiVersion: scaleproof.dev/v1alpha1\nkind: ScalingTest\npolicy: chat.yaml\nhpa: chat.hpa.yaml\n"
        "replay: {mode: signal}\ntests:\n- name: a plain HPA forgets\n  replicas: 10\n"
        '  series: {signal: "10x20 _x20 2 10x40"}\n  expect: [{within: [10m, 12m], replicas: 2}]\n'
    )
    status, output, _ = run(plain / "plain.test.yaml")
    assert status == 0, output


def test_mutations_find_a_test_that_passes_whatever_is_made_wrong(tmp_path: Path) -> None:
    toothless = (
        '- name: nothing much\n  replicas: 3\n  series: {flight: "30x40"}\n  expect: [{always: "replicas >= 1"}]\n'
    )
    path = write_tests(write_policy(tmp_path), RISE + toothless)
    status, output, _ = run(path, "--mutate", "--output", "json")
    tests = {test["name"]: test for test in json.loads(output)["files"][0]["tests"]}
    assert status == 1
    assert tests["the load doubles"]["mutations"]["targets-doubled"] == "caught"
    assert not tests["the load doubles"]["toothless"]
    assert tests["nothing much"]["toothless"]
    assert run(path)[0] == 0


def test_run_chooses_by_name_and_junit_tells_each_test(tmp_path: Path) -> None:
    wrong = '- name: a & b\n  replicas: 3\n  series: {flight: "30x40"}\n  expect: [{at: 5m, replicas: 4}]\n'
    path = write_tests(write_policy(tmp_path), RISE + wrong)
    assert run(path, "--run", "doubles")[0] == 0
    assert run(path, "--run", "nothing")[0] == 2
    status, _, _ = run(path, "--junit", tmp_path / "junit.xml")
    text = (tmp_path / "junit.xml").read_text()
    assert status == 1
    assert f'<testsuite name="{path}" tests="2" failures="1" skipped="0">' in text
    assert '<testcase name="a &amp; b"' in text
    assert "at 5m replicas 4 | replicas 3" in text
