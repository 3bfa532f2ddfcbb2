"""Runs: when things happen, what the policy sees of the simulated replicas, and that a run is a function."""

import pytest
from policy_world import policy
from replay_worlds import PLAIN, STEP, WITH_N, at, columns, hpa, run_of, syncs

from sim.replay.parameters import Mode, Parameters, ReplayError, Startup
from sim.replay.runner import Run


def test_a_sync_sees_the_tick_of_its_own_instant() -> None:
    steps = syncs(PLAIN, columns({"queue": [10, 10, 50]}), hpa(high=50))
    assert [(step.t, step.metrics[0].text, step.desired) for step in steps] == [
        (0, "10", 1),
        (15, "10", 1),
        (30, "50", 4),  # ⌈50 ÷ 10⌉ = 5, limited to max(2 × 1, 4)
    ]


def test_a_value_is_seen_one_offset_later_at_the_next_tick() -> None:
    # A sample of 0 s is asked for from 18 s on, so at the tick of 30 s; the one of 30 s at that of 60 s.
    steps = syncs(PLAIN, columns({"queue": [10, 10, 50]}), hpa(), offset=18.0)
    assert [(step.t, step.metrics[0].text) for step in steps] == [(30, "10"), (45, "10"), (60, "50")]


def test_syncs_have_a_phase_and_a_latency() -> None:
    steps = syncs(PLAIN, columns({"queue": [10] * 5}), hpa(), hpa_phase=4.0, hpa_latency=1.0)
    assert [step.t for step in steps] == [5, 21, 37, 53]


def test_ticks_have_a_phase() -> None:
    steps = syncs(PLAIN, columns({"queue": [10] * 3}), hpa(), evaluation_phase=7.0)
    assert [step.t for step in steps] == [7, 22, 37]


def test_replicas_of_the_policy_are_the_simulated_ones_as_scraped() -> None:
    steps = syncs(WITH_N, columns({"queue": [40] * 10}), hpa(target=1, down_window=300), replicas=1)
    why = [step.metrics[0].outcome.why for step in steps]  # type: ignore[union-attr]
    # The sync of 0 s writes 4; the scrape of that instant was before it, that of 15 s sees it.
    assert [one.n for one in why if one is not None][:3] == [1, 4, 4]
    assert [step.desired for step in steps][:2] == [4, 4]


def test_pods_become_ready_after_their_start_up() -> None:
    trace = columns({"queue": [40] * 12})
    steps = syncs(WITH_N, trace, hpa(target=1, down_window=300), startup=Startup(60.0))
    assert [(step.t, step.ready) for step in steps if step.t in (0, 45, 60)] == [(0, 1), (45, 1), (60, 4)]


def test_lognormal_start_up_is_drawn_from_the_seed() -> None:
    trace = columns({"queue": [90] * 40})

    def ready(seed: int) -> list[int]:
        options = {"startup": Startup(60.0, 240.0), "seed": seed}
        return [step.ready for step in syncs(WITH_N, trace, hpa(target=1, down_window=300), **options)]

    assert ready(1) == ready(1)
    assert ready(1) != ready(2)


def test_p50_and_p95_of_the_start_up_are_what_was_asked_for() -> None:
    from random import Random

    random, startup = Random(7), Startup(60.0, 240.0)
    drawn = sorted(startup.draw(random) for _ in range(20_000))
    assert drawn[10_000] == pytest.approx(60, rel=0.03)
    assert drawn[19_000] == pytest.approx(240, rel=0.05)


def test_a_run_is_the_same_twice() -> None:
    trace = columns({"queue": [10, 80, None, 20, 95, 5] * 10})
    first, second = (syncs(WITH_N, trace, hpa(target=1, down_window=0), startup=Startup(45.0, 90.0)) for _ in "ab")
    assert first == second


def test_recorded_replicas_are_where_a_run_starts() -> None:
    steps = syncs(PLAIN, columns({"queue": [40] * 3, "replicas": [4, 4, 4]}), hpa())
    assert steps[0].replicas == 4
    assert syncs(PLAIN, columns({"queue": [40] * 3, "replicas": [4, 4, 4]}), hpa(), replicas=7)[0].replicas == 7


def test_the_version_of_kubernetes_is_that_of_the_model() -> None:
    trace = columns({"queue": [40] * 3})
    with pytest.raises(ValueError, match=r"1\.21"):
        syncs(PLAIN, trace, hpa(), kubernetes="1.21")
    assert syncs(PLAIN, trace, hpa(), kubernetes="1.37")[0].desired == 4


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"queue": "other"}, "the policy's inputs are queue: none is in both"),
        ({"name": "other"}, "the HPA asks for other"),
    ],
    ids=["no-input", "no-metric"],
)
def test_what_cannot_be_replayed_is_refused_with_the_reason(given: dict[str, str], words: str) -> None:
    trace = columns({given.get("queue", "queue"): [1.0, 2.0]})
    with pytest.raises(ReplayError, match=words):
        Run((policy(PLAIN),), trace, hpa(name=given.get("name", "queue")), Parameters())


def test_an_input_that_the_trace_does_not_have_is_missing_and_told() -> None:
    spec = PLAIN.replace("  terms:", "    gpu: {query: gpu, unit: ratio, per: []}\n  terms:").replace(", as: total", "")
    spec = spec.replace("  publish:", "    compute: {utilization: gpu, target: 70%}\n  publish:")
    run, steps = run_of(spec, columns({"queue": [10, 10]}), hpa(target=1))
    assert run.absent == ("gpu",)
    assert all(step.metrics[0].text is None for step in steps)


def test_series_of_a_preset_are_played_and_made_into_its_number() -> None:
    spec = """\
  offset: 0s
  inputs:
    arrivals: {preset: vllm/request-arrivals, match: {model_name: m}}
  capacity: {rate_per_replica: 1/s}
  terms:
    load: {throughput: arrivals, share: 50%}
  publish: {metric: queue}
"""
    trace = columns(
        {
            "arrivals.completed": [index * 30 for index in range(6)],  # 2 a second
            "arrivals.running": [0.0] * 6,
            "arrivals.waiting": [index * 15 for index in range(6)],  # and 1 a second more queues
        }
    )
    steps = syncs(spec, trace, hpa(target=1))
    assert at(steps, 5 * STEP).metrics[0].text == "6"  # 3/s ÷ (0.5 × 1/s)


def test_mode_signal_plays_what_was_published() -> None:
    spec = WITH_N
    steps = syncs(spec, columns({"signal": [2.0004, 3.1, None, float("nan"), -1]}), hpa(target=1), mode=Mode.SIGNAL)
    seen = [(step.metrics[0].text, step.metrics[0].reason) for step in steps]
    # The value of 15 s holds for 1.5 steps, so the blank cell at 30 s is still covered by it.
    assert seen == [("2", None), ("3100m", None), ("3100m", None), (None, "not-a-number"), (None, "negative")]


def test_mode_signal_needs_a_signal() -> None:
    with pytest.raises(ReplayError, match='column "signal"'):
        syncs(PLAIN, columns({"queue": [1]}), hpa(), mode=Mode.SIGNAL)
