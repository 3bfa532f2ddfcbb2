"""Small replays for tests: a trace from columns, a policy, an HPA, and the syncs that follow."""

from collections.abc import Iterable, Mapping, Sequence

from policy_world import policy

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.samples import labels_of
from sim.faults import Fault
from sim.hpa.spec import DEFAULT_DOWN, DEFAULT_UP, Behavior, Metric, MetricKind, Spec, TargetType
from sim.replay.parameters import Parameters
from sim.replay.runner import Run
from sim.replay.steps import SyncStep
from sim.traces.trace import HeldTrace, TraceSample, hold

STEP = 15

PLAIN = """\
  offset: 0s
  inputs:
    queue: {query: queue_depth, unit: count, per: []}
  terms:
    queue: {concurrency: queue, per_replica: 10}
  publish: {metric: queue, as: total}
"""
"""A number as it is, asked for at the tick: what a plain exporter and a plain HPA make of it."""

WITH_N = """\
  offset: 0s
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs:
    queue: {query: queue_depth, unit: count, per: []}
  terms:
    queue: {concurrency: queue, per_replica: 10}
  publish: {metric: queue}
"""
"""The same load as replicas, with N known."""


def columns(values: Mapping[str, Sequence[float | None]], step: float = STEP) -> HeldTrace:
    """A trace of columns with equal steps from 0 s; None is no sample; `waiting{a}` is the pod a's."""
    return hold(
        TraceSample(index * step, name.partition("{")[0], value, pod_of(name))
        for name, column in values.items()
        for index, value in enumerate(column)
        if value is not None
    )


def pod_of(name: str) -> tuple[tuple[str, str], ...]:
    """The labels of a column `INPUT{POD}`."""
    pod = name.partition("{")[2].rstrip("}")
    return labels_of({"pod": pod}) if pod else ()


def hpa(
    target: float = 10.0,
    low: int = 1,
    high: int = 10,
    name: str = "queue",
    down_window: int | None = None,
    kind: TargetType = TargetType.AVERAGE_VALUE,
) -> Spec:
    """An HPA of one External metric; no `behavior` unless a window is given."""
    behavior = None
    if down_window is not None:
        down = type(DEFAULT_DOWN)(down_window, DEFAULT_DOWN.select, DEFAULT_DOWN.policies, 0.0)
        up = type(DEFAULT_UP)(0, DEFAULT_UP.select, DEFAULT_UP.policies, 0.0)
        behavior = Behavior(up, down)
    metric = Metric(MetricKind.EXTERNAL, name, kind, round(target * 1000))
    return Spec(low, high, (metric,), behavior)


def run_of(
    spec: str | LoadedPolicy, trace: HeldTrace, autoscaler: Spec, faults: Iterable[Fault] = (), **parameters: object
) -> tuple[Run, list[SyncStep]]:
    """A run that has ended, and its syncs."""
    loaded = policy(spec) if isinstance(spec, str) else spec
    run = Run((loaded,), trace, autoscaler, Parameters(**parameters), tuple(faults))  # type: ignore[arg-type]
    return run, list(run.steps())


def syncs(
    spec: str | LoadedPolicy, trace: HeldTrace, autoscaler: Spec, faults: Iterable[Fault] = (), **parameters: object
) -> list[SyncStep]:
    """The syncs of a run."""
    return run_of(spec, trace, autoscaler, faults, **parameters)[1]


def at(steps: Iterable[SyncStep], t: float) -> SyncStep:
    """The sync at a time."""
    return next(step for step in steps if step.t == t)
