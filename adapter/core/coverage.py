"""Coverage: which pods are expected to report, which do, and how many are missing.

The pods expected are the ready ones, not those that reported: the busy pods are the first to fail a scrape, so judging
by those that answered would scale down under load. Source: the experiments behind the demand interval.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf

from adapter.core.plans import InputPlan
from adapter.core.reasons import Missing, Reason
from adapter.core.series_readings import Entity, Measured, Reading


@dataclass(frozen=True, slots=True)
class ReplicaState:
    """Replicas of a group as of the grid: N (largest spec.replicas of the last 60 s), ready pods, their names."""

    is_configured: bool = False
    n: float | None = None
    ready: int | None = None
    ready_pods: frozenset[str] | None = None
    as_of: float | None = None
    missing: Missing | None = None


@dataclass(frozen=True, slots=True)
class Coverage:
    """The values that count, and how many pods are missing: 0 when complete, infinite when nobody can tell."""

    values: tuple[Measured, ...]
    missing_pods: float
    missing: Missing | None

    @property
    def is_complete(self) -> bool:
        """Whether every expected pod reported."""
        return self.missing_pods == 0


def cover(plan: InputPlan, reading: Reading, replicas: ReplicaState, seen: Iterable[Entity]) -> Coverage:
    """Hold the reading against what is expected: the ready pods, or where nobody knows them, `seen` in the memory."""
    if not replicas.is_configured or not is_per_pod(plan, reading):
        return _against_memory(plan, reading, seen)
    if replicas.ready is None:
        unknown = replicas.missing or Missing(Reason.NO_REPLICAS, "the number of ready pods is unknown")
        return Coverage(tuple(reading.values.values()), inf, reading.failure or unknown)
    return _against_ready(plan, reading, replicas, replicas.ready)


def is_per_pod(plan: InputPlan, reading: Reading) -> bool:
    """Whether the reading is of pods, which replicas tell the number of, rather than of gateways or a sum."""
    place = plan.pod_place
    if place is None:
        return False
    entities = [*reading.values, *reading.bad]
    return not entities or any(entity[place] for entity in entities)


def _pod(plan: InputPlan, entity: Entity) -> str:
    return entity[plan.pod_place or 0]


def _against_memory(plan: InputPlan, reading: Reading, seen: Iterable[Entity]) -> Coverage:
    """Where nobody says who is expected, one that vanished may have failed: it is missing while remembered."""
    values = reading.values
    absent = sorted({entity for entity in (*seen, *reading.bad) if entity not in values and any(entity)})
    if not values:
        return Coverage((), max(len(absent), 1) if is_per_pod(plan, reading) else inf, _speaking(plan, reading, absent))
    return Coverage(tuple(values.values()), len(absent), _speaking(plan, reading, absent) if absent else None)


def _against_ready(plan: InputPlan, reading: Reading, replicas: ReplicaState, ready: int) -> Coverage:
    values: Mapping[Entity, Measured] = reading.values
    if ready == 0 and replicas.n != 0:
        # Replicas are wanted and none is ready: what they would need is unknown, and it is not nothing.
        nobody = Missing(Reason.EMPTY, f"{plan.name}: no pod is ready to report")
        return Coverage(tuple(values.values()), inf, reading.failure or nobody)
    if replicas.ready_pods:
        values = {entity: value for entity, value in values.items() if _pod(plan, entity) in replicas.ready_pods}
        expected = max(ready, len(replicas.ready_pods))
        reported = {_pod(plan, entity) for entity in values}
        absent: list[Entity] = [(name,) for name in sorted(replicas.ready_pods - reported)]
    else:
        expected, absent = ready, []
        values = _without_the_gone(plan, values, ready)
    reporting = len({_pod(plan, entity) for entity in values})
    missing_pods = max(0, expected - reporting)
    if missing_pods == 0:
        return Coverage(tuple(values.values()), 0, None)
    return Coverage(tuple(values.values()), missing_pods, _speaking(plan, reading, absent, missing_pods, expected))


def _without_the_gone(plan: InputPlan, values: Mapping[Entity, Measured], ready: int) -> Mapping[Entity, Measured]:
    """Pods that missed their last scrape count only as far as ready pods are missing, the most recent first.

    A pod that was scaled down leaves samples behind for up to max_age; counting it would ask for it again.
    """
    live = {entity: value for entity, value in values.items() if not value.is_late}
    room = ready - len({_pod(plan, entity) for entity in live})
    late = sorted(
        (entity for entity in values if entity not in live), key=lambda entity: (-values[entity].time, entity)
    )
    live.update({entity: values[entity] for entity in late[: max(0, room)]})
    return live


def _speaking(
    plan: InputPlan, reading: Reading, absent: list[Entity], missing_pods: int = 0, expected: int = 0
) -> Missing:
    """The most telling cause: the whole input's, then a bad pod's own, then that pods are missing."""
    if reading.failure is not None:
        return reading.failure
    for missing in reading.bad.values():
        return missing
    names = ", ".join("/".join(entity) for entity in absent[:3]) + (", …" if len(absent) > 3 else "")
    if missing_pods:
        message = f"{plan.name}: {missing_pods} of {expected} ready pods do not report"
        return Missing(Reason.PARTIAL, f"{message} ({names})" if names else message)
    return Missing(Reason.PARTIAL, f"{plan.name}: {len(absent)} of the last minutes do not report ({names})")
