"""Cases from public bug reports, through the whole path: trace, policy, wire text, HPA (see tests/cases/README.md)."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sim.replay.command import app

CASES = Path(__file__).parent.parent / "cases"


def expected(case: str) -> Any:
    return json.loads((CASES / case / "expect.json").read_text())["expected"]


def invoke(case: str, policy: str, *options: str, output: str = "jsonl") -> Any:
    folder = CASES / case
    files = ["--policy", str(folder / policy), "--trace", str(folder / "trace.csv"), "--hpa", str(folder / "hpa.yaml")]
    result = CliRunner().invoke(app, [*files, "--output", output, *options])
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout) if output == "json" else [json.loads(line) for line in result.stdout.splitlines()]


def test_h4_goes_down_in_fours_a_minute_apart_once_the_window_is_over() -> None:
    want = expected("H4")
    lines = invoke("H4", "scaleproof.yaml", "--fill-forward", "15m")
    changes = [(line["t"], line["desired"]) for line in lines if line["desired"] < line["replicas"]]
    assert [20, *(desired for _, desired in changes)] == want["sequence"]
    times = [t for t, _ in changes]
    assert want["first_change_s"][0] <= times[0] <= want["first_change_s"][1]
    assert all(want["step_s"][0] <= later - earlier <= want["step_s"][1] for earlier, later in pairwise(times))


def test_p3_a_gauge_below_its_target_never_scales_and_the_report_points_it_out() -> None:
    want = expected("P3")
    lines = invoke("P3", "processing.yaml", "--sync", "30s")
    assert [line["desired"] for line in lines] == want["processing"]
    summary = invoke("P3", "processing.yaml", "--sync", "30s", output="json")
    (finding,) = summary["findings"]
    assert finding["code"] == want["finding"]
    assert "maximum 1 per replica, below its target 2, for the whole run" in finding["message"]


def test_p3_what_waits_scales_and_is_no_finding() -> None:
    lines = invoke("P3", "deferred.yaml", "--sync", "30s")
    assert [line["desired"] for line in lines] == expected("P3")["deferred"]
    assert invoke("P3", "deferred.yaml", output="json")["findings"] == []


@pytest.mark.parametrize("start", [[], ["--replicas", "4"]], ids=["from-the-minimum", "from-four"])
def test_t5_blank_cells_and_a_hole_are_not_zero(start: list[str]) -> None:
    want = expected("T5")
    lines = invoke("T5", "scaleproof.yaml", *start)
    assert {line["desired"] for line in lines} == {want["replicas"]}
    failed = [line for line in lines if line["metrics"]["queue"] is None]
    assert all("FailedGetExternalMetric" in line["reasons"] for line in failed)
    # The newest sample is that of 75 s until 675 s can be seen; it is stale once it is 60 s old at t - 18 s.
    assert (failed[0]["t"], failed[-1]["t"]) == (165, 690)
    summary = invoke("T5", "scaleproof.yaml", *start, output="json")
    assert summary["blank_samples"] == want["blank"]
    assert summary["holes"] == want["holes"]
    assert "3 blank samples" in summary["said"]


def test_t5_is_filled_forward_only_where_asked_and_within_the_limit() -> None:
    lines = invoke("T5", "scaleproof.yaml", "--fill-forward", "2m")
    # Filled until 75 + 120 = 195 s; at t - 18 s that is 60 s old beyond 273 s.
    assert min(line["t"] for line in lines if line["metrics"]["queue"] is None) == 285
