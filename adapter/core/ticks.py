"""Ticks: everything read for one instant of the grid, and the replicas of that instant.

A tick is made from answers alone and never changed, so that a memory of ticks can be fetched again and be the same.
"""

from dataclasses import dataclass

from adapter.core.coverage import ReplicaState
from adapter.core.plans import PolicyPlan
from adapter.core.readings import Answers, GroupKey, InputReadings, read_input
from adapter.core.reasons import Missing, Reason
from adapter.core.series_readings import Measured, Reading


@dataclass(frozen=True, slots=True)
class Tick:
    """Everything read for one instant of the grid: `t` is when it was evaluated, `instant` what it was asked for."""

    t: float
    instant: float
    inputs: dict[str, InputReadings]
    spec: InputReadings | None = None
    ready: InputReadings | None = None
    pods: InputReadings | None = None


def read_tick(plan: PolicyPlan, t: float, answers: Answers) -> Tick:
    """Read all inputs of a policy from the answers asked for `t - offset`."""
    instant = t - plan.offset
    replicas = plan.replicas
    return Tick(
        t=t,
        instant=instant,
        inputs={name: read_input(one, answers, instant) for name, one in plan.inputs.items()},
        spec=read_input(replicas.spec, answers, instant) if replicas else None,
        ready=read_input(replicas.ready, answers, instant) if replicas and replicas.ready else None,
        pods=read_input(replicas.pods, answers, instant) if replicas and replicas.pods else None,
    )


def replica_state(plan: PolicyPlan, tick: Tick, group: GroupKey) -> ReplicaState:
    """N, ready pods and their names for one group at one tick."""
    if plan.replicas is None or tick.spec is None:
        return ReplicaState()
    spec = _single(tick.spec.of(group, "replicas"))
    if isinstance(spec, Missing):
        return ReplicaState(is_configured=True, missing=Missing(Reason.NO_REPLICAS, f"N is unknown: {spec}"))
    ready: Measured | Missing = spec
    if tick.ready is not None:
        ready = _single(tick.ready.of(group, "ready pods"))
    if isinstance(ready, Missing):
        missing = Missing(Reason.NO_REPLICAS, f"the number of ready pods is unknown: {ready}")
        return ReplicaState(is_configured=True, n=spec.value, as_of=spec.time, missing=missing)
    return ReplicaState(
        is_configured=True,
        n=spec.value,
        ready=round(ready.value),
        ready_pods=_ready_names(tick, group),
        as_of=min(spec.time, ready.time),
    )


def _ready_names(tick: Tick, group: GroupKey) -> frozenset[str] | None:
    if tick.pods is None:
        return None
    reading = tick.pods.of(group, "ready pods")
    # A deleted pod's last sample says ready for as long as it is seen; one that missed its scrape is not believed.
    names = frozenset(
        entity[0]
        for entity, measured in reading.values.items()
        if measured.value > 0 and entity[0] and not measured.is_late
    )
    return names or None


def _single(reading: Reading) -> Measured | Missing:
    if reading.failure is not None:
        return reading.failure
    if len(reading.values) + len(reading.bad) > 1:
        names = ", ".join("/".join(entity) for entity in list(reading.values)[:3])
        return Missing(Reason.DUPLICATE_SERIES, f"more than one workload matches ({names})")
    return next(iter(reading.values.values()))
