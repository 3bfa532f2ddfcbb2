"""Replica states: N, how many pods are ready and which, as of one instant.

Three readings in, one state out. What could not be read is said, never guessed: a number of ready pods without the
names that were known a moment ago would count starting pods in place of ready ones.
"""

from dataclasses import dataclass

from adapter.core.reasons import Missing, Reason
from adapter.core.series_readings import Measured, Reading


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """Replicas of a group as of the grid: N (largest spec.replicas of the last 60 s), ready pods, their names."""

    is_configured: bool = False
    n: float | None = None
    ready: int | None = None
    ready_pods: frozenset[str] | None = None
    as_of: float | None = None
    missing: Missing | None = None


def replica_state(spec: Reading, ready: Reading | None, pods: Reading | None, *, had_names: bool) -> ReplicaState:
    """The state from its readings; `had_names` says that the memory holds names of ready pods."""
    n = _single(spec)
    if isinstance(n, Missing):
        return ReplicaState(is_configured=True, missing=Missing(Reason.NO_REPLICAS, f"N is unknown: {n}"))
    count = n if ready is None else _single(ready)
    if isinstance(count, Missing):
        return _unready(n, f"the number of ready pods is unknown: {count}")
    names = _ready_names(pods, had_names)
    if isinstance(names, Missing):
        if round(count.value) > 0:
            return _unready(n, f"the names of the ready pods are unknown: {names}")
        names = None  # no pod is ready, so there is no name to know
    return ReplicaState(
        is_configured=True,
        n=n.value,
        ready=round(count.value),
        ready_pods=names,
        as_of=min(n.time, count.time),
    )


def _unready(n: Measured, message: str) -> ReplicaState:
    return ReplicaState(is_configured=True, n=n.value, as_of=n.time, missing=Missing(Reason.NO_REPLICAS, message))


def _ready_names(pods: Reading | None, had_names: bool) -> frozenset[str] | Missing | None:
    """The names of those that are ready; None where nobody tells names, Missing where they were told and are not."""
    if pods is None:
        return None
    if pods.values or pods.bad:
        ready = {entity[0]: measured for entity, measured in pods.values.items() if measured.value > 0 and entity[0]}
        # A deleted pod's last sample says ready for as long as it is seen: beside names that are of the last scrape,
        # one that is not is not believed.
        fresh = frozenset(name for name, measured in ready.items() if not measured.is_late)
        return fresh or frozenset(ready)
    failure = pods.failure or Missing(Reason.EMPTY, "no series matches")
    return failure if had_names or failure.reason is not Reason.EMPTY else None


def _single(reading: Reading) -> Measured | Missing:
    if reading.failure is not None:
        return reading.failure
    if len(reading.values) + len(reading.bad) > 1:
        names = ", ".join("/".join(entity) for entity in list(reading.values)[:3])
        return Missing(Reason.DUPLICATE_SERIES, f"more than one workload matches ({names})")
    return next(iter(reading.values.values()))
