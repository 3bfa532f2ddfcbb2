"""The report's data: what is kept of a run, that it fits, and that no text of a run can become code."""

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from policy_folders import write_policy
from replay_worlds import PLAIN, WITH_N, columns, hpa, run_of
from typer.testing import CliRunner

from adapter.cli import app
from sim.faults import AnswerFault, AnswerKind, ControllerRestart, Fault
from sim.replay.runner import Run
from sim.replay.steps import SyncStep
from sim.replay.subject import Subject
from sim.replay.summary import Summary
from sim.report.document import MAX_BYTES, flat, report
from sim.report.ghost import Ghost
from sim.report.points import Collector, Point
from sim.scores import Scorer

RISE = columns({"queue": [10, 10, 40, 40]})
HOSTILE = "</script><script>alert(1)</script><!-- & \u2028 /*{data}*/"


def kept_of(steps: list[SyncStep], expected: int = 0, ghost: Ghost | None = None) -> Collector:
    kept = Collector(expected or len(steps), ghost)
    for step in steps:
        kept.add(step)
    kept.finish()
    return kept


def summary_of(run: Run, steps: list[SyncStep], said: str = "") -> Summary:
    scorer = Scorer(run.parameters.sync, run.hpa.maximum, 1.0)
    for step in steps:
        scorer.add(step)
    subject = Subject(run.policies, run.hpa, run.trace, "hpa", (said,) if said else ())
    return Summary(subject, run, scorer.scores(), [], 1.0)


def data_of(html: str) -> dict[str, Any]:
    (block,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', html, re.DOTALL)
    data: dict[str, Any] = json.loads(block)
    return data


def made(faults: tuple[Fault, ...] = (), ghost: Ghost | None = None, said: str = "") -> dict[str, Any]:
    run, steps = run_of(PLAIN, RISE, hpa(), faults)
    return data_of(report(summary_of(run, steps, said), kept_of(steps, ghost=ghost), faults, ghost))


def test_a_point_has_the_signal_the_band_and_every_stage_of_the_decision() -> None:
    """40 in the queue at 10 a replica is 4; a first step may reach max(2 × 1, 4) = 4."""
    _, steps = run_of(PLAIN, RISE, hpa())
    points = kept_of(steps).points
    assert [one.t for one in points] == [0, 15, 30, 45]
    rise = points[2]
    assert (rise.kind, rise.change) == ("up", "1 → 4")
    expected = {"signal0": 40, "missing0": None, "up0": 4, "proposal": 4, "stabilized": 4, "limited": 4, "before": 1}
    assert {name: rise.columns[name] for name in expected} == expected
    assert (rise.columns["ready"], points[3].columns["ready"]) == (1, 4)
    assert rise.columns["term0 queue"] == 4
    assert "term queue: queue ÷ 10 = 40 ÷ 10 = 4" in rise.lines
    assert rise.lines[-1] == "HPA: final 4: SucceededRescale"
    assert [one.kind for one in points] == ["steady", "steady", "up", "steady"]


def test_a_sync_without_a_metric_decided_nothing_and_says_why() -> None:
    _, steps = run_of(WITH_N, RISE, hpa(target=1), [AnswerFault(AnswerKind.OUTAGE, 30, 15)])
    point = kept_of(steps).points[2]
    assert (point.kind, point.columns["signal0"], point.columns["proposal"]) == ("failed", None, None)
    assert point.columns["missing0"] == "upstream-error"
    assert any("no value (upstream-error" in line for line in point.lines)


def test_of_a_long_run_the_extremes_of_each_stretch_the_changes_and_the_ends_are_kept() -> None:
    """Stretches of 10 syncs: 8 at 195 s is the least of its stretch, 9 at 255 s is between; 40 at 450 s scales."""
    queue = [10.0] * 40
    queue[13], queue[17], queue[30:] = 8, 9, [40.0] * 10
    _, steps = run_of(PLAIN, columns({"queue": queue}), hpa())
    kept = kept_of(steps, expected=6000)
    times = [one.t for one in kept.points]
    assert kept.stretch == 10
    assert {0, 195, 450, 585} <= set(times)
    assert 255 not in times
    assert times == sorted(set(times))
    assert len(times) < 20


def test_a_change_of_the_baseline_alone_is_kept_too() -> None:
    steady = columns({"queue": [10.0] * 40})
    run, steps = run_of(PLAIN, steady, hpa())
    _, other = run_of(PLAIN, columns({"queue": [10.0] * 14 + [20.0] * 26}), hpa())
    kept = kept_of(steps, expected=6000, ghost=Ghost("other", other, len(run.hpa.metrics)))
    found = {one.t: one.columns["base_replicas"] for one in kept.points}
    assert (found[0], found[210]) == (1, 2)  # row 14 × 15 s
    assert next(one for one in kept.points if one.t == 210).columns["base_signal0"] == 20


def test_scores_are_those_of_the_summary_and_count_every_sync() -> None:
    """1, 1, 4 and 4 replicas for 15 s each are 150 s = 0.0417 hours."""
    found = made()
    assert found["scores"]["replica_hours"] == 0.0417
    assert (found["scores"]["rescales"], found["scores"]["pod_starts"]) == (1, 3)
    assert found["scores"]["theta_under"] == 18.75  # (4 − 1) ÷ 4 at one of 4 syncs
    assert (found["baseline"], found["baseline_scores"]) == (None, None)
    assert found["rescales"] == {
        "total": 1,
        "rows": [[30, "1 → 4", "SucceededRescale, ValidMetricFound, DesiredWithinRange"]],
    }
    assert found["shown"] == "All 4 syncs are shown."


def test_a_fault_has_its_span_and_words_and_one_at_an_instant_is_still_seen() -> None:
    faults = (AnswerFault(AnswerKind.SLOW, 15, 15, frozenset({"queue"}), 3.0), ControllerRestart(30))
    slow, restart = made(faults)["faults"]
    assert slow == {"from": 15, "to": 30, "words": "slow of queue, 3 s late", "seconds": 15}
    assert (restart["from"], restart["words"], restart["seconds"]) == (30, "controller-restart", 0)
    assert restart["to"] > 30


def test_no_text_of_a_run_ends_the_block_that_it_stands_in() -> None:
    run, steps = run_of(PLAIN, RISE, hpa())
    html = report(summary_of(run, steps, HOSTILE), kept_of(steps))
    assert html.count("</script>") == 2
    assert "alert(1)</script>" not in html
    assert data_of(html)["summary"]["said"] == [HOSTILE]


def test_the_page_allows_its_own_style_and_script_alone() -> None:
    run, steps = run_of(PLAIN, RISE, hpa())
    html = report(summary_of(run, steps), kept_of(steps))
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    script = html.rpartition("<script>")[2].partition("</script>")[0]
    digest = {name: b64encode(hashlib.sha256(text.encode()).digest()).decode() for name, text in
              (("style", style), ("script", script))}  # fmt: skip
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest['style']}'; script-src 'sha256-{digest['script']}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert not re.findall(r"\son[a-z]+=|innerHTML|insertAdjacent|https?://(?!www\.w3\.org/2000/svg)", html)


def crowd(count: int, characters: int) -> list[Point]:
    """So many points, each with a line of its own."""
    _, steps = run_of(PLAIN, RISE, hpa())
    point = kept_of(steps).points[2]
    return [replace(point, t=15 * k, lines=(f"{k} " + "x" * characters,)) for k in range(count)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "characters", "shown"),
    [
        (1000, 100, "1000 of 4 syncs are shown: every rescale, every change"),
        (8000, 400, "8000 of 4 syncs are shown: (without arithmetic) every rescale, and"),
        (60000, 100, "30000 of 4 syncs are shown: (without arithmetic) one in 2 of every rescale"),
    ],
)
def test_what_does_not_fit_into_two_megabytes_is_left_out_and_the_page_says_what(
    count: int, characters: int, shown: str
) -> None:
    """A point without its lines has some 60 bytes: 8,000 and 30,000 fit, 60,000 do not."""
    run, steps = run_of(PLAIN, RISE, hpa())
    kept = kept_of(steps)
    kept.points = crowd(count, characters)
    html = report(summary_of(run, steps), kept)
    assert len(html.encode()) <= MAX_BYTES
    assert data_of(html)["shown"].startswith(shown)


def replay(folder: Path, *arguments: str) -> tuple[int, str, str]:
    trace = folder / "trace.csv"
    trace.write_text("t_s,flight\n" + "".join(f"{15 * row},{60 if row > 20 else 30}\n" for row in range(41)))
    policy = write_policy(folder)
    base = ["replay", "--policy", str(policy / "chat.yaml"), "--hpa", str(policy / "chat.hpa.yaml")]
    result = CliRunner().invoke(app, [*base, "--trace", str(trace), *arguments])
    return result.exit_code, result.stdout, result.stderr


def test_the_command_writes_a_report_with_the_scores_of_its_json_and_a_baseline(tmp_path: Path) -> None:
    """The baseline takes half as many for each replica, so it needs twice as many: 6 and 12 instead of 3 and 6."""
    other = write_policy(tmp_path / "other", per_replica=5) / "chat.yaml"
    file = tmp_path / "run.html"
    status, output, _ = replay(
        tmp_path, "--output", "json", "--report", str(file), "--baseline-policy", str(other),
        "--fault", "{kind: controller-restart, at: 1m}",
    )  # fmt: skip
    found, told = data_of(file.read_text()), json.loads(output)["scores"]
    assert status == 0
    assert found["scores"]["most_replicas"] == told["most_replicas"] == 6
    assert {**told, **told["provisioning"]}.items() >= {
        name: value for name, value in found["scores"].items() if "." not in name
    }.items()
    assert found["baseline_scores"]["most_replicas"] == 12
    assert found["baseline"].startswith(f"{other}, HPA inference/chat of ")
    assert [one["words"] for one in found["faults"]] == ["controller-restart"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--report", "no/such/folder/run.html"), "the folder does not exist"),
        (("--baseline-policy", "x.yaml"), "x.yaml"),
        (("--fault", "{kind: earthquake, at: 1m}"), '"earthquake" is no fault'),
        (("--fault", "{kind: outage, at: 1m}"), "outage needs a time it lasts"),
        (("--fault", "{"), "--fault"),
    ],
)
def test_what_cannot_be_reported_is_bad_usage(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    status, _, errors = replay(tmp_path, *arguments)
    assert (status, words in errors) == (2, True), errors


def test_a_baseline_without_a_report_is_bad_usage(tmp_path: Path) -> None:
    status, _, errors = replay(tmp_path, "--baseline-policy", str(tmp_path / "chat.yaml"))
    assert (status, "give --report" in errors) == (2, True)


def test_scores_of_fixed_fleets_are_flat() -> None:
    run, steps = run_of(PLAIN, RISE, hpa())
    found = flat(summary_of(run, steps).scores)
    assert found["fixed_at_peak.replicas"] == 4
    assert found["fixed_at_mean.replicas"] == 3  # (1 + 1 + 4 + 4) ÷ 4 = 2.5
    assert not any(isinstance(value, dict) for value in found.values())
