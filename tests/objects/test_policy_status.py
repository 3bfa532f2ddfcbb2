"""The status of a policy: what each condition says, and when it counts as another."""

from dataclasses import replace
from typing import Any

from adapter.core.policy_status import (
    InForce,
    Judgement,
    Shown,
    Verdict,
    accepted_before,
    is_same,
    is_turn,
    status_of,
)
from adapter.core.reasons import Missing, Reason
from adapter.core.signals import GroupSignal, NoSignal, Signal, Why

NOW = 1_800_000_000.0  # 2027-01-15T08:00:00Z
WHY = Why(NOW, NOW - 2, (), (), 7.0, 7.0, 4.0, 4, "term batch: U 7", ())
ACCEPTED = Verdict(3, Judgement.ACCEPTED, "", InForce(3, {"every": "1s"}))
INVALID = Verdict(4, Judgement.INVALID, "spec.every: no", InForce(3, {"every": "1s"}))


def signal(milli: int, **labels: str) -> GroupSignal:
    return GroupSignal(labels, Signal(milli, NOW - 2, WHY))


def absent(**labels: str) -> GroupSignal:
    return GroupSignal(labels, NoSignal(Missing(Reason.NOT_A_NUMBER, "input queue")))


def conditions(status: dict[str, Any]) -> dict[str, tuple[str, str, str]]:
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in status["conditions"]}


def test_a_policy_in_force_shows_its_value_its_replicas_and_what_decided() -> None:
    status = status_of(ACCEPTED, Shown(NOW, [signal(7300)]), NOW, {})
    times = {"observedGeneration": 3, "lastTransitionTime": "2027-01-15T08:00:00Z"}
    active = "7300m: term batch: U 7"
    assert status == {
        "observedGeneration": 3,
        "conditions": [
            {"type": "Accepted", "status": "True", "reason": "Accepted", "message": "in force", **times},
            {"type": "Active", "status": "True", "reason": "Signal", "message": active, **times},
        ],
        "value": "7300m",
        "replicas": 4,
        "decidedBy": "term batch: U 7",
        "lastEvaluationTime": "2027-01-15T08:00:00Z",
    }


def test_a_missing_signal_is_false_with_the_reason_as_a_word_and_in_the_message() -> None:
    status = status_of(ACCEPTED, Shown(NOW, [absent()]), NOW, {})
    assert conditions(status)["Active"] == ("False", "NotANumber", "not-a-number: input queue")
    assert "value" not in status


def test_a_refused_edit_keeps_the_accepted_spec_in_the_status_and_its_value() -> None:
    status = status_of(INVALID, Shown(NOW, [signal(7000)]), NOW, {})
    assert conditions(status)["Accepted"] == (
        "False",
        "Invalid",
        "spec.every: no\nThe last accepted version, generation 3, stays in force.",
    )
    assert (status["observedGeneration"], status["value"]) == (4, "7")
    assert accepted_before(status) == InForce(3, {"every": "1s"})


def test_what_was_never_accepted_is_not_in_force() -> None:
    status = status_of(replace(INVALID, in_force=None), Shown(None), NOW, {})
    found = conditions(status)
    assert found["Accepted"][2].endswith("\nNo accepted version of it is known, so nothing is in force.")
    assert found["Active"][:2] == ("False", "NotInForce")
    assert accepted_before(status) is None


def test_warnings_are_told_of_what_is_in_force() -> None:
    status = status_of(replace(ACCEPTED, message="spec.offset: low"), Shown(NOW, [signal(7000)]), NOW, {})
    assert conditions(status)["Accepted"] == ("True", "Accepted", "in force, with warnings:\nspec.offset: low")


def test_a_conflict_is_no_fault_of_the_document() -> None:
    status = status_of(Verdict(1, Judgement.CONFLICTED, "twice", None), Shown(None), NOW, {})
    assert conditions(status)["Accepted"] == ("False", "Conflicted", "twice\nIt is not in force.")


def test_groups_are_told_together_and_the_first_that_is_missing_by_its_labels() -> None:
    good = status_of(ACCEPTED, Shown(NOW, [signal(1000, m="a"), signal(8500, m="b")]), NOW, {})
    assert conditions(good)["Active"] == ("True", "Signal", "2 groups, 1 to 8500m")
    assert "value" not in good
    bad = status_of(ACCEPTED, Shown(NOW, [signal(1000, m="a"), absent(m="b")]), NOW, {})
    message = "1 of 2 groups have no signal, first m=b: not-a-number: input queue"
    assert conditions(bad)["Active"] == ("False", "NotANumber", message)


def test_a_condition_keeps_the_time_at_which_it_turned() -> None:
    before = status_of(ACCEPTED, Shown(NOW, [signal(7000)]), NOW, {})
    later = status_of(ACCEPTED, Shown(NOW + 60, [signal(8000)]), NOW + 60, before)
    assert [one["lastTransitionTime"] for one in later["conditions"]] == ["2027-01-15T08:00:00Z"] * 2
    gone = status_of(ACCEPTED, Shown(NOW + 90, [absent()]), NOW + 90, later)
    assert [one["lastTransitionTime"] for one in gone["conditions"]] == ["2027-01-15T08:00:00Z", "2027-01-15T08:01:30Z"]


def test_an_adapter_that_has_just_started_leaves_the_signal_that_stands_there() -> None:
    before = status_of(ACCEPTED, Shown(NOW, [signal(7000)]), NOW, {})
    starting = Shown(None, (), Missing(Reason.STARTING, "not yet"))
    assert status_of(ACCEPTED, starting, NOW + 5, before) == before
    assert conditions(status_of(ACCEPTED, starting, NOW, {}))["Active"][:2] == ("False", "Starting")


def test_another_time_alone_is_no_change_and_another_value_is_no_turn() -> None:
    before = status_of(ACCEPTED, Shown(NOW, [signal(7000)]), NOW, {})
    same = status_of(ACCEPTED, Shown(NOW + 1, [signal(7000)]), NOW + 1, before)
    assert is_same(same, before)
    moved = status_of(ACCEPTED, Shown(NOW + 1, [signal(8000)]), NOW + 1, before)
    assert (is_same(moved, before), is_turn(moved, before)) == (False, False)
    lost = status_of(ACCEPTED, Shown(NOW + 1, [absent()]), NOW + 1, before)
    assert is_turn(lost, before)
    assert is_turn(status_of(INVALID, Shown(NOW, [signal(7000)]), NOW, before), before)


def test_a_status_that_somebody_else_wrote_is_read_with_care() -> None:
    for written in ({}, {"inForce": None}, {"inForce": {"spec": 5}}, {"inForce": {"generation": 1}}):
        assert accepted_before(written) is None
    assert accepted_before({"inForce": {"generation": "x", "spec": {}}}) == InForce(0, {})
