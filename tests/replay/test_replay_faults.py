"""Faults in a run, each as a story on a time line."""

import pytest
from replay_worlds import PLAIN, WITH_N, at, columns, hpa, syncs

from sim.faults import (
    AdapterRestart,
    AnswerFault,
    AnswerKind,
    ControllerRestart,
    Fault,
    ScaleEdit,
    ScaleFails,
    UnreadyPods,
)
from sim.replay.steps import SyncStep

STEADY = columns({"queue": [60.0] * 40})


def run(*faults: Fault, spec: str = WITH_N) -> list[SyncStep]:
    """60 queued, 10 a replica: six replicas from the start, over ten minutes, with a window of 300 s downwards."""
    target = 1 if spec is WITH_N else 10
    return syncs(spec, STEADY, hpa(target=target, down_window=300), faults, replicas=6)


def missing(steps: list[SyncStep]) -> list[float]:
    return [step.t for step in steps if step.metrics[0].text is None]


def test_without_faults_nothing_moves() -> None:
    steps = run()
    assert {step.desired for step in steps} == {6}
    assert missing(steps) == []


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (AnswerKind.OUTAGE, "upstream-error"),
        (AnswerKind.EMPTY, "empty"),
        (AnswerKind.NAN, "not-a-number"),
        (AnswerKind.SLOW, "upstream-timeout"),
    ],
)
def test_what_befalls_the_answers_is_a_failed_metric_and_holds(kind: AnswerKind, reason: str) -> None:
    steps = run(AnswerFault(kind, at=150, seconds=120))
    assert missing(steps) == [150, 165, 180, 195, 210, 225, 240, 255]
    assert at(steps, 150).metrics[0].reason == reason
    assert "FailedGetExternalMetric" in at(steps, 150).reasons
    assert {step.desired for step in steps} == {6}


def test_samples_that_stop_are_stale_after_a_minute() -> None:
    steps = run(AnswerFault(AnswerKind.STALE, at=150, seconds=300))
    # The last sample is of 135 s; it counts until it is 60 s old.
    assert missing(steps) == list(range(210, 450, 15))
    assert {step.desired for step in steps} == {6}


def test_an_outage_read_as_zero_scales_down_which_is_why_it_is_not_read_so() -> None:
    steps = run(AnswerFault(AnswerKind.ZERO, at=150, seconds=400), spec=PLAIN)
    assert missing(steps) == []
    # The last six was asked for at 135 s, and the window is 300 s.
    assert (at(steps, 420).desired, at(steps, 435).desired) == (6, 1)


def test_a_fault_of_one_input_leaves_the_others_alone() -> None:
    assert missing(run(AnswerFault(AnswerKind.OUTAGE, 150, 120, frozenset({"other"})))) == []


def test_slow_answers_within_the_budget_come_late() -> None:
    trace = columns({"queue": [10.0] * 4 + [60.0] * 4})
    late = [AnswerFault(AnswerKind.SLOW, at=0, seconds=1000, delay=5)]
    # The tick of 60 s is there at 65 s, so the sync of 75 s is the first to see it.
    assert at(syncs(PLAIN, trace, hpa()), 60).metrics[0].text == "60"
    steps = syncs(PLAIN, trace, hpa(), late)
    assert [at(steps, t).metrics[0].text for t in (60, 75)] == ["10", "60"]


def test_a_restarted_controller_forgets_its_window() -> None:
    trace = columns({"queue": [60.0] * 10 + [10.0] * 10})
    autoscaler = hpa(down_window=300)
    assert syncs(PLAIN, trace, autoscaler, replicas=6)[-1].desired == 6
    # After the restart the first recommendation is the count it finds, which holds for 300 s in its turn.
    steps = syncs(PLAIN, trace, hpa(down_window=60), [ControllerRestart(at=200)], replicas=6)
    # The six of 135 s would be out of the window at 195 s; the restart at 200 s is too late for that.
    assert [step.t for step in steps if step.desired < step.replicas] == [195]
    steps = syncs(PLAIN, trace, hpa(down_window=60), [ControllerRestart(at=190)], replicas=6)
    assert [step.t for step in steps if step.desired < step.replicas] == [255]


def test_a_restarted_adapter_fetches_its_memory_and_serves_at_its_next_tick() -> None:
    # Down from 150 to 170 s: it fetches its memory at 170 s and the tick of 180 s is served.
    steps = run(AdapterRestart(at=150, seconds=20))
    assert missing(steps) == [150, 165]
    assert [step.metrics[0].text for step in steps if step.t >= 180] == [
        step.metrics[0].text for step in run() if step.t >= 180
    ]


def test_an_edit_of_the_scale_from_outside_is_seen_and_undone() -> None:
    steps = run(ScaleEdit(at=100, replicas=2))
    assert (at(steps, 105).replicas, at(steps, 105).desired) == (2, 6)


def test_pods_that_are_not_ready_are_counted_out() -> None:
    steps = run(UnreadyPods(at=100, seconds=60, pods=4))
    assert [at(steps, t).ready for t in (90, 105, 150, 165)] == [6, 2, 2, 6]


def test_a_scale_that_cannot_be_read_or_written_is_left() -> None:
    trace = columns({"queue": [60.0] * 10})
    steps = syncs(PLAIN, trace, hpa(), [ScaleFails(0, 60), ScaleFails(60, 30, is_write=True)])
    assert [step.desired for step in steps if step.t < 90] == [1] * 6
    assert (at(steps, 0).reasons[0], at(steps, 60).reasons[0]) == ("FailedGetScale", "FailedUpdateScale")
    assert at(steps, 90).desired == 4


AMNESIA = columns({"queue": [100.0] * 40 + [20.0] * 60})
OUTAGE = AnswerFault(AnswerKind.OUTAGE, at=600 - 315, seconds=315)
"""100 queued, ten replicas; 315 s of outage until 600 s, then 20."""


def test_a_plain_autoscaler_forgets_its_load_in_an_outage_that_is_longer_than_its_window() -> None:
    steps = syncs(PLAIN, AMNESIA, hpa(down_window=300), [OUTAGE], replicas=10)
    assert at(steps, 585).desired == 10
    assert at(steps, 600).desired == 2  # at once: every recommendation is older than the window


def test_with_n_a_low_sample_after_an_outage_takes_nothing_at_once() -> None:
    steps = syncs(WITH_N, AMNESIA, hpa(target=1, down_window=300), [OUTAGE], replicas=10)
    # Ten are asked for until the fifth good tick, that of 660 s; the ten of 645 s stand in the window for 300 s.
    assert at(steps, 600).metrics[0].text == "10"
    assert min(step.t for step in steps if step.desired < 10) == 645 + 300
    assert steps[-1].desired == 2
