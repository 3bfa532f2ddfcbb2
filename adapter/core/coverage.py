"""Coverage: which pods are expected to report, which do, and how many are missing.

The pods expected are the ready ones, not those that reported: the busy pods are the first to fail a scrape, so judging
by those that answered would scale down under load. Source: the experiments behind the demand interval.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf

from adapter.core.input_plans import InputPlan
from adapter.core.reasons import Missing, Reason
from adapter.core.replica_states import ReplicaState
from adapter.core.series_readings import Entity, Measured, Part, Reading

Seen = Mapping[Entity, frozenset[Part]]
"""What an input gave within the memory: its pods, and of each the parts, such as its GPUs."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The values that count, and how many pods are missing: 0 when complete, infinite when nobody can tell.

    A pod of which `per` tells several apart, such as its GPUs, counts as so many. `doubtful_pods` count in the values
    and may be others than those that are ready, which may hide more.
    """

    values: tuple[Measured, ...]
    missing_pods: float
    missing: Missing | None
    doubtful_pods: int = 0

    @property
    def is_complete(self) -> bool:
        """Whether every expected pod reported."""
        return self.missing_pods == 0


def cover(plan: InputPlan, reading: Reading, replicas: ReplicaState, seen: Seen) -> Coverage:
    """Hold the reading against what is expected: the ready pods, or where nobody knows them, `seen` in the memory."""
    if _is_as_ever(plan, reading, replicas, seen):
        return Coverage(tuple(reading.values.values()), 0, None)
    reading = _without_torsos(plan, reading, seen)
    if not replicas.is_configured or not _is_per_pod(plan, reading, seen):
        return _against_memory(plan, reading, seen)
    if replicas.ready is None:
        unknown = replicas.missing or Missing(Reason.NO_REPLICAS, "the number of ready pods is unknown")
        return Coverage(tuple(reading.values.values()), inf, reading.failure or unknown)
    return _against_ready(plan, reading, replicas, replicas.ready, seen)


def _is_as_ever(plan: InputPlan, reading: Reading, replicas: ReplicaState, seen: Seen) -> bool:
    """The usual case told early: just what was seen in the memory reports, and no replicas say what else should."""
    values, place = reading.values, plan.pod_place
    if not values or reading.bad or reading.failure is not None or len(values) != len(seen):
        return False
    for entity, measured in values.items():
        if seen.get(entity) != measured.parts or (place is not None and replicas.is_configured and entity[place]):
            return False
    return True


def _is_per_pod(plan: InputPlan, reading: Reading, seen: Seen) -> bool:
    """Whether the input is of pods, which replicas tell the number of, rather than of gateways or a sum."""
    place = plan.pod_place
    if place is None:
        return False
    entities = [*reading.values, *reading.bad, *seen]
    return not entities or any(entity[place] for entity in entities)


def _without_torsos(plan: InputPlan, reading: Reading, seen: Seen) -> Reading:
    """The reading without pods of which a part is gone, such as one of eight GPUs: the rest is not the pod's number."""
    torsos: dict[Entity, Missing] = {}
    for entity, measured in reading.values.items():
        lost = len(seen.get(entity, measured.parts) - measured.parts)
        if lost:
            message = f"{plan.name}: {'/'.join(entity) or 'the series'}: {lost} of its series no longer report"
            torsos[entity] = Missing(Reason.PARTIAL, message)
    if not torsos:
        return reading
    values = {entity: measured for entity, measured in reading.values.items() if entity not in torsos}
    failure = None if values else next(iter(torsos.values()))
    return replace(reading, values=values, bad={**reading.bad, **torsos}, failure=failure)


def _pod(plan: InputPlan, entity: Entity) -> str:
    return entity[plan.pod_place or 0]


def _against_memory(plan: InputPlan, reading: Reading, seen: Seen) -> Coverage:
    """Where nobody says who is expected, one that vanished may have failed: it is missing while remembered."""
    values = reading.values
    absent = sorted({entity for entity in (*seen, *reading.bad) if entity not in values and any(entity)})
    if not values:
        missing_pods = max(len(absent), 1) if _is_per_pod(plan, reading, seen) else inf
        return Coverage((), missing_pods, _speaking(plan, reading, absent))
    return Coverage(tuple(values.values()), len(absent), _speaking(plan, reading, absent) if absent else None)


_QUERY_FAILURES = (Reason.UPSTREAM_ERROR, Reason.UPSTREAM_TIMEOUT, Reason.UPSTREAM_REJECTED)


def _against_ready(plan: InputPlan, reading: Reading, replicas: ReplicaState, ready: int, seen: Seen) -> Coverage:
    failure = reading.failure
    if ready == 0 and (replicas.n != 0 or (failure is not None and failure.reason in _QUERY_FAILURES)):
        # Replicas are wanted and none is ready, or nobody answered: what they would need is unknown, and not nothing.
        nobody = Missing(Reason.EMPTY, f"{plan.name}: no pod is ready to report")
        return Coverage(tuple(reading.values.values()), inf, failure or nobody)
    values: Mapping[Entity, Measured] = reading.values
    doubtful = 0
    if replicas.ready_pods is not None:
        values = {entity: value for entity, value in values.items() if _pod(plan, entity) in replicas.ready_pods}
        expected = max(ready, len(replicas.ready_pods))
        reported = {_pod(plan, entity) for entity in values}
        absent: list[Entity] = [(name,) for name in sorted(replicas.ready_pods - reported)]
    else:
        values, doubtful = _without_the_gone(plan, values, ready)
        expected, absent = ready, []
        reported = {_pod(plan, entity) for entity in values}
    # Where `per` tells more than pods apart, one of a pod's may be gone while others report, and a pod hides several.
    torn = sorted({one for one in (*seen, *reading.bad) if one not in values and _pod(plan, one) in reported})
    each = max(Counter(_pod(plan, one) for one in {*seen, *reading.values, *reading.bad}).values(), default=1)
    silent = max(0, expected - len(reported))
    missing_pods = silent * each + len(torn)
    missing = None
    if missing_pods:
        missing = _speaking(plan, reading, [*absent, *torn], silent or len(torn), expected)
    elif doubtful:
        missing = Missing(Reason.PARTIAL, f"{plan.name}: {doubtful} of {expected} ready pods missed a scrape")
    return Coverage(tuple(values.values()), missing_pods, missing, doubtful)


def _without_the_gone(
    plan: InputPlan, values: Mapping[Entity, Measured], ready: int
) -> tuple[Mapping[Entity, Measured], int]:
    """Pods that missed their last scrape count only as far as ready pods are missing, the most recent first.

    A pod that was scaled down leaves samples behind for up to max_age; counting it would ask for it again. Those that
    count are doubtful: an idle one that is gone must not stand in for a busy one that does not answer.
    """
    live = {entity: value for entity, value in values.items() if not value.is_late}
    room = ready - len({_pod(plan, entity) for entity in live})
    late = sorted(
        (entity for entity in values if entity not in live), key=lambda entity: (-values[entity].time, entity)
    )
    counted = late[: max(0, room)]
    live.update({entity: values[entity] for entity in counted})
    return live, len({_pod(plan, entity) for entity in counted})


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
