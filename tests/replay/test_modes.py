"""Modes: what is played of r recorded replicas where s are simulated, with the numbers of docs/replay.md."""

import pytest
from replay_worlds import at, columns, hpa, run_of

from adapter.core.signals import Signal
from sim.replay.findings import Watch
from sim.replay.parameters import Mode
from sim.replay.runner import Run
from sim.replay.steps import SyncStep

HEAD = """\
  offset: 0s
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
"""

FLIGHT = (
    HEAD
    + """\
  inputs:
    flight: {preset: vllm/requests-in-flight, match: {model_name: m}}
  terms:
    batch: {concurrency: flight, per_replica: 8}
  publish: {metric: queue}
"""
)

GPU = (
    HEAD
    + """\
  inputs:
    gpu: {preset: dcgm/engine-active, match: {pod: "~d-.*"}}
  terms:
    compute: {utilization: gpu, target: 70%}
  publish: {metric: queue}
"""
)

SLOW = (
    HEAD
    + """\
  inputs:
    flight: {preset: vllm/requests-in-flight, match: {model_name: m}}
    ttft: {preset: vllm/time-to-first-token, match: {model_name: m}}
  terms:
    batch: {concurrency: flight, per_replica: 8}
    slow: {latency: ttft, objective: 2s, max_step: 50%}
  publish: {metric: queue}
"""
)

ROWS = 8


def inputs_of(step: SyncStep, name: str) -> tuple[int, float | None, float | None]:
    """(pods, total, largest) of an input as the policy read it."""
    outcome = step.metrics[0].outcome
    assert isinstance(outcome, Signal)
    (found,) = [one for one in outcome.why.inputs if one.name == name]
    return found.pods, found.total, found.largest


def causes(run: Run) -> list[str]:
    return [one.cause for one in run.uncarried.values()]


def test_as_recorded_plays_the_pods_that_there_were() -> None:
    # Two recorded pods with 6 and 10 in flight: 16 ÷ 8 = 2, of two pods, the larger with 10.
    trace = columns({"flight{a}": [6.0] * ROWS, "flight{b}": [10.0] * ROWS})
    run, steps = run_of(FLIGHT, trace, hpa(target=1, low=4), replicas=4)
    assert inputs_of(at(steps, 60), "flight") == (2, 16.0, 10.0)
    assert at(steps, 60).metrics[0].text == "2"
    assert causes(run) == []


def test_totals_kept_spreads_the_total_over_the_simulated_replicas() -> None:
    # The same 16 in flight on four simulated replicas: 4 each, and still 16 ÷ 8 = 2.
    trace = columns({"flight{a}": [6.0] * ROWS, "flight{b}": [10.0] * ROWS})
    run, steps = run_of(FLIGHT, trace, hpa(target=1, low=4), replicas=4, mode=Mode.TOTALS_KEPT)
    assert inputs_of(at(steps, 60), "flight") == (4, 16.0, 4.0)
    assert at(steps, 60).metrics[0].text == "2"
    assert causes(run) == []


@pytest.mark.parametrize("mode", [Mode.AS_RECORDED, Mode.TOTALS_KEPT])
def test_a_share_of_a_resource_is_carried_while_no_replica_is_full(mode: Mode) -> None:
    # 0.6 + 0.8 = 1.4 on two; 0.35 each on four; 1.4 ÷ 0.7 = 2.
    trace = columns({"gpu{a}": [0.6] * ROWS, "gpu{b}": [0.8] * ROWS})
    run, steps = run_of(GPU, trace, hpa(target=1, low=4), replicas=4, mode=mode)
    assert at(steps, 60).metrics[0].text == "2"
    assert causes(run) == []


@pytest.mark.parametrize("mode", [Mode.AS_RECORDED, Mode.TOTALS_KEPT])
def test_a_full_recorded_replica_says_nothing_about_more_of_them(mode: Mode) -> None:
    trace = columns({"gpu{a}": [1.0] * ROWS, "gpu{b}": [0.9] * ROWS})
    run, _ = run_of(GPU, trace, hpa(target=1, low=4), replicas=4, mode=mode)
    assert causes(run) == ["a recorded replica was full, so what more of them would have shown is not known"]


@pytest.mark.parametrize("mode", [Mode.AS_RECORDED, Mode.TOTALS_KEPT])
def test_a_load_that_fills_fewer_simulated_replicas_is_not_carried(mode: Mode) -> None:
    # 4 × 0.6 = 2.4 does not go onto two replicas: 1.2 each. With three it does: 0.8 each.
    trace = columns({f"gpu{{{pod}}}": [0.6] * ROWS for pod in "abcd"})
    run, _ = run_of(GPU, trace, hpa(target=1, high=2), replicas=2, mode=mode)
    assert causes(run) == ["the simulated replicas would be full, and what then waits is not in the trace"]
    run, _ = run_of(GPU, trace, hpa(target=1, low=3, high=3), replicas=3, mode=mode)
    assert causes(run) == []


@pytest.mark.parametrize("mode", [Mode.AS_RECORDED, Mode.TOTALS_KEPT])
def test_a_latency_belongs_to_the_replicas_that_there_were(mode: Mode) -> None:
    trace = columns({"flight": [16.0] * ROWS, "ttft": [1.0] * ROWS, "replicas": [2] * ROWS})
    run, _ = run_of(SLOW, trace, hpa(target=1, low=2), mode=mode)
    assert causes(run) == []
    run, _ = run_of(SLOW, trace, hpa(target=1, low=4), mode=mode, replicas=4)
    assert causes(run) == ["it belongs to the recorded number of replicas, which is not the simulated one"]


def test_a_run_with_what_is_not_carried_is_inconclusive() -> None:
    trace = columns({"flight": [16.0] * ROWS, "ttft": [1.0] * ROWS, "replicas": [2] * ROWS})
    run, steps = run_of(SLOW, trace, hpa(target=1, low=4), replicas=4)
    watch = Watch(run.hpa)
    for step in steps:
        watch.add(step)
    (finding,) = [one for one in watch.findings(run) if one.is_inconclusive]
    assert finding.code == "not-carried"
    assert "8 rows, from 0 s to 105 s" in finding.message


def test_totals_of_a_ratio_need_the_number_of_replicas() -> None:
    gpu = {"gpu": [0.7] * ROWS}
    run, _ = run_of(GPU, columns(gpu), hpa(target=1), mode=Mode.TOTALS_KEPT)
    assert causes(run) == ["the trace does not say how many replicas it is of (columns by pod, or replicas)"]
    # The mean of three recorded ones is 0.7, so the total is 2.1, and 2.1 ÷ 0.7 = 3.
    run, steps = run_of(GPU, columns({**gpu, "replicas": [3] * ROWS}), hpa(target=1), mode=Mode.TOTALS_KEPT)
    assert causes(run) == []
    assert at(steps, 60).metrics[0].text == "3"


def test_a_plain_total_is_the_same_at_any_number_of_replicas() -> None:
    for mode in (Mode.AS_RECORDED, Mode.TOTALS_KEPT):
        run, steps = run_of(FLIGHT, columns({"flight": [16.0] * ROWS}), hpa(target=1, low=4), replicas=4, mode=mode)
        assert at(steps, 60).metrics[0].text == "2"
        assert (run.notes, causes(run)) == ([], [])


def test_as_recorded_says_what_it_takes_for_granted() -> None:
    run, _ = run_of(GPU, columns({"gpu": [0.7] * ROWS}), hpa(target=1))
    assert run.notes == ["the trace does not say how many replicas it is of: gpu stands as it is at any number"]
    run, _ = run_of(GPU, columns({"gpu{a}": [0.7] * ROWS}), hpa(target=1))
    assert run.notes == ["the trace has no column ready: the pods that report are taken for the ready ones"]


def test_recorded_ready_pods_tell_a_pod_that_did_not_report() -> None:
    # Three were ready and two report: at most 1 more may hide, so D is (0.6 + 0.8 + 1) ÷ 0.7 and nothing goes below 3.
    trace = columns({"gpu{a}": [0.6] * ROWS, "gpu{b}": [0.8] * ROWS, "ready": [3] * ROWS})
    _, steps = run_of(GPU, trace, hpa(target=1), replicas=3)
    assert at(steps, 60).metrics[0].text == "3"


def test_events_that_are_not_in_the_trace_did_not_happen() -> None:
    guarded = FLIGHT.replace(
        "  publish:", "  guards: [{hold_scale_down: {after: oom-kill, for: 1m, max: 2m}}]\n  publish:"
    )
    run, steps = run_of(guarded, columns({"flight": [8.0] * 20}), hpa(target=1, down_window=0), replicas=3)
    assert run.notes == ["the trace has nothing of oom-kill: none is taken to have happened"]
    assert steps[-1].desired == 1
