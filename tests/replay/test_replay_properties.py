"""Properties of drawn runs: data that is missing never scales down, and the index over a memory changes nothing."""

from random import Random

import pytest
from policy_world import policy
from replay_worlds import columns, hpa, syncs

from adapter.core.evaluation import evaluate
from adapter.core.samples import Answer, Sample, Series, labels_of
from adapter.core.tick_memory import TickMemory
from adapter.core.ticks import Tick, read_tick
from sim.faults import AnswerFault, AnswerKind, Fault

QUEUE_AND_GPU = """\
  offset: OFFSET
  memory: 3m
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs:
    queue: {query: queue_depth, unit: count, per: []}
    gpu: {query: gpu, unit: ratio, per: []}
  terms:
    queue: {concurrency: queue, per_replica: 10}
    gpu: {utilization: gpu, target: 70%}
  publish: {metric: queue}
"""
POLICIES = [policy(QUEUE_AND_GPU.replace("OFFSET", offset)) for offset in ("0s", "18s")]


def drawn(random: Random) -> tuple[list[float | None], list[float | None], list[Fault]]:
    """Two columns with blanks and what is no number, and perhaps faults."""
    length = random.randint(6, 16)

    def column(high: float) -> list[float | None]:
        bad = [None, None, float("nan"), float("inf"), -1.0]
        return [random.choice(bad) if random.random() < 0.35 else random.uniform(0, high) for _ in range(length)]

    kinds = [AnswerKind.OUTAGE, AnswerKind.EMPTY, AnswerKind.NAN, AnswerKind.STALE, AnswerKind.SLOW]
    faults: list[Fault] = [
        AnswerFault(random.choice(kinds), random.randint(0, 200), random.randint(10, 150), frozenset(names))
        for names in random.choice([[], [()], [("queue",)], [("gpu",), ("queue",)]])
    ]
    return column(120), column(1.0), faults


def check_one(seed: int) -> None:
    """No sync at which an input of the policy is missing goes down."""
    random = Random(seed)
    queue, gpu, faults = drawn(random)
    if all(value is None for value in queue) or all(value is None for value in gpu):
        return
    # N is seen a scrape and an offset late, so a window of 120 s is the shortest that the lints let pass beside it.
    autoscaler = hpa(target=1, high=20, down_window=120)
    start = random.randint(1, 20)
    for step in syncs(
        random.choice(POLICIES), columns({"queue": queue, "gpu": gpu}), autoscaler, faults, replicas=start
    ):
        metric = step.metrics[0]
        why = metric.outcome.why if metric.outcome is not None else None
        is_missing = metric.text is None or why is None or any(one.reason is not None for one in why.inputs)
        if is_missing and step.desired < step.replicas:
            raise AssertionError(f"seed {seed}: {step.replicas} → {step.desired} at {step.t} on missing data")


def test_missing_data_never_scales_down() -> None:
    for seed in range(300):
        check_one(seed)


@pytest.mark.slow
def test_missing_data_never_scales_down_in_ten_thousand_runs() -> None:
    for seed in range(10_000):
        check_one(seed)


FLEET = policy(
    """\
  offset: 0s
  memory: 2m
  by: [model]
  replicas: {query: spec, ready: ready}
  inputs:
    load: {query: load, unit: count, reduce: sum}
    gate: {query: gate, unit: count, per: []}
  terms:
    load: {concurrency: load, per_replica: 2}
    gate: {concurrency: gate, per_replica: 5}
  publish: {metric: m, sum: true}
"""
)


def drawn_tick(random: Random, t: float) -> Tick:
    """Pods of two models that come, go, fail and lose parts."""

    def series(value: float, **labels: str) -> Series:
        return Series(labels_of(labels), (Sample(value, t - random.choice([1, 1, 1, 30, 90])),))

    load = [
        series(random.choice([1.0, 5.0, float("nan")]), model=model, pod=pod, gpu=gpu)
        for model in "ab"
        for pod in "xyz"
        for gpu in "01"
        if random.random() < 0.8
    ]
    gate = [series(3.0, model=model) for model in "ab" if random.random() < 0.8]
    numbers = [series(3.0, model=model) for model in "ab" if random.random() < 0.9]
    queries = {query: Answer(tuple(numbers)) for query, _ in FLEET.plan.queries}
    return read_tick(FLEET.plan, t, {**queries, "load": Answer(tuple(load)), "gate": Answer(tuple(gate))})


@pytest.mark.parametrize("seed", range(10))
def test_an_index_over_the_memory_gives_what_a_list_of_the_same_ticks_gives(seed: int) -> None:
    random = Random(seed)
    limit = FLEET.plan.memory_ticks
    memory, ticks = TickMemory(limit), []
    for number in range(40):
        if random.random() < 0.03:
            memory.clear()
            ticks.clear()
        tick = drawn_tick(random, 15.0 * number)
        memory.append(tick)
        ticks = [*ticks, tick][-limit:]
        assert list(memory) == ticks
        assert evaluate(FLEET.plan, FLEET.rules, memory) == evaluate(FLEET.plan, FLEET.rules, ticks)


def test_the_short_way_to_read_a_plain_input_gives_what_the_long_way_gives() -> None:
    from adapter.core import readings

    plan = POLICIES[0].plan.inputs["queue"]
    query = plan.series[0].alternatives[0].query
    for value in (3.0, 0.0, -0.0, -1.0, float("nan"), float("inf"), 2147483633.0, 9.3e18, 1e17):
        for age in (1.0, 40.0, 61.0):
            samples = tuple(Sample(value, 1000.0 - age - 15 * back) for back in (2, 1, 0))
            answers = {query: Answer((Series((), samples),))}
            short = readings.read_input(plan, answers, 1000.0)
            collected = readings._collect(plan, plan.series[0], answers)
            read = readings._read_series(plan, plan.series[0], collected[()], 1000.0)
            assert short.groups[()] == readings._combine(plan, [read], None), (value, age)
