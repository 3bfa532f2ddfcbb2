"""Bug reports about the HPA, retold: each case's files say what goes in and what has to come out."""

import csv
import json
from itertools import pairwise
from pathlib import Path

import hpa_runs
import pytest

from adapter.core.quantity import parse_milli
from sim.hpa.flags import NANOSECONDS_PER_SECOND, ControllerFlags
from sim.hpa.versions import NotModelledError, find_version

CASES = Path(__file__).resolve().parents[1] / "cases"


def expected(case: str) -> dict:
    return json.loads((CASES / case / "expect.json").read_text())["expected"]


def rows(case: str, name: str = "steps.csv") -> list[dict[str, str]]:
    with (CASES / case / name).open() as lines:
        return list(csv.DictReader(lines))


def milli(total: str) -> int:
    return int(total) * 1000


def test_h1_average_value_and_value_read_the_same_number_differently():
    wanted = expected("H1")
    average_row, value_row = rows("H1")
    average = hpa_runs.the_manifest(CASES / "H1" / average_row["file"]).spec()
    decision, account = hpa_runs.decide(average, ((milli(average_row["total"]),),), 3)
    assert account.proposal == wanted["average"] == int(average_row["expected_desired"])
    assert decision.state.status.current_metrics[0].milli == parse_milli(wanted["shown"])
    value = hpa_runs.the_manifest(CASES / "H1" / value_row["file"]).spec()
    decision, account = hpa_runs.decide(
        value, ((milli(value_row["total"]),),), int(value_row["spec"]), int(value_row["ready"])
    )
    assert account.proposal == wanted["value"] == int(value_row["expected_desired"])
    assert decision.replicas == wanted["value_after_first_step_limit"]


def test_h2_exactly_ten_percent_over_target_is_inside_the_tolerance():
    spec = hpa_runs.the_manifest(CASES / "H2" / "hpa.yaml").spec()
    proposals = [hpa_runs.decide(spec, ((milli(row["total"]),),), int(row["spec"]))[1].proposal for row in rows("H2")]
    assert proposals == expected("H2")["1.33+"] == [int(row["expected_1_33_plus"]) for row in rows("H2")]


def test_h2_the_old_tolerance_is_refused_by_version():
    with pytest.raises(NotModelledError, match=r"1\.32"):
        find_version("1.32")


def test_h3_one_failed_metric_keeps_the_count_while_the_other_says_down():
    wanted = expected("H3")
    spec = hpa_runs.the_manifest(CASES / "H3" / "hpa.yaml").spec()
    answers = {"ERROR": None, "EMPTY": ()}
    for row in rows("H3"):
        failed = row["b_total"] in answers
        other = answers[row["b_total"]] if failed else (milli(row["b_total"]),)
        decision, account = hpa_runs.decide(spec, ((milli(row["a_total"]),), other), int(row["spec"]))
        assert account.proposal == 1
        if failed:
            assert decision.replicas == wanted["desired"] == int(row["expected"])
            assert decision.state.status.scaling_active == ("False", "FailedGetExternalMetric")
            assert wanted["scaling_active"] is False
        else:
            assert account.want == int(row["expected"])
            assert decision.state.status.scaling_active.status == "True"


def test_h4_the_larger_of_two_policies_wins_so_it_goes_down_in_fours():
    wanted = expected("H4")
    trace = [(int(row["t_s"]), milli(row["total"])) for row in rows("H4", "trace.csv")]
    spec = hpa_runs.the_manifest(CASES / "H4" / "hpa.yaml").spec()
    loads = [
        (seconds, ((max(point for point in trace if point[0] <= seconds)[1],),))
        for seconds in range(trace[0][0], 901, 15)
    ]
    decided = hpa_runs.run(spec, loads, 20)
    changes = [(seconds, decision.replicas) for seconds, decision in decided if decision.is_rescaled]
    assert [20, *(replicas for _, replicas in changes)] == wanted["sequence"]
    low, high = wanted["first_change_s"]
    assert low <= changes[0][0] <= high
    low, high = wanted["step_s"]
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(changes)]
    assert all(low <= gap <= high for gap in gaps), gaps


def test_h5_zero_replicas_by_hand_switch_the_hpa_off():
    wanted = expected("H5")
    spec = hpa_runs.the_manifest(CASES / "H5" / "hpa.yaml").spec()
    start, end = rows("H5")
    loads = [(seconds, ((milli(start["total"]),),)) for seconds in range(int(start["t_s"]), int(end["t_s"]) + 1, 15)]
    for _, decision in hpa_runs.run(spec, loads, int(start["spec"])):
        assert decision.replicas == wanted["desired"] == int(end["expected"])
        assert decision.state.status.scaling_active == ("False", wanted["reason"])


def test_h6_an_overload_beyond_int32_stays_at_the_maximum():
    spec = hpa_runs.the_manifest(CASES / "H6" / "hpa.yaml").spec()
    decided = [hpa_runs.decide(spec, ((milli(row["total"]),),), int(row["spec"]))[0] for row in rows("H6")]
    assert [decision.replicas for decision in decided] == expected("H6")["1.34+"]
    assert [decision.state.status.desired_replicas for decision in decided] == [50, 50]


def test_h7_without_behavior_one_replica_becomes_4_then_8_then_10():
    spec = hpa_runs.the_manifest(CASES / "H7" / "hpa.yaml").spec()
    loads = [(int(row["t_s"]), ((milli(row["total"]),),)) for row in rows("H7")]
    decided = [decision for _, decision in hpa_runs.run(spec, loads, 1, ControllerFlags(30 * NANOSECONDS_PER_SECOND))]
    assert [1, *(decision.replicas for decision in decided)] == expected("H7")["sequence"]
    assert [decision.replicas for decision in decided] == [int(row["expected_after"]) for row in rows("H7")]
    assert [decision.state.status.scaling_limited for decision in decided] == [
        ("True", "ScaleUpLimit"),
        ("True", "ScaleUpLimit"),
        ("False", "DesiredWithinRange"),
    ]
