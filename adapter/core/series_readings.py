"""The series of one pod as one number: duplicates, parts, staleness, sentinels, rates.

The lowest step of reading: it sees the series of one pod for one input and knows neither groups nor other pods.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import fsum, isfinite, isnan
from operator import sub
from statistics import median

from adapter.core.input_plans import InputPlan, SeriesPlan
from adapter.core.presets import Take
from adapter.core.quantity import MAX_VALUE
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Sample, Series

Entity = tuple[str, ...]
"""The values of the labels in `per`: most often one pod's name."""

Part = tuple[object, ...]
"""What tells the series of one pod apart: the name of the series and the labels of the part, such as a GPU's UUID."""

LATE_INTERVALS = 1.5
"""A series whose newest sample is older than this many of its own intervals (and a second) has missed a scrape."""

# DCGM's blanks for "no value": int32, int64 (as a double) and fp64, each followed by three more specific ones.
# Source: dcgm_structs.h, DCGM_INT32_BLANK, DCGM_INT64_BLANK, DCGM_FP64_BLANK.
_SENTINEL_RANGES = ((2147483632.0, 2147483635.0), (140737488355328.0, 140737488355331.0))
_SENTINEL_FROM = 9223372036854774784.0


def is_sentinel(value: float) -> bool:
    """Whether a number is one of DCGM's marks for "no value"."""
    if value < _SENTINEL_RANGES[0][0]:
        return False
    return value >= _SENTINEL_FROM or any(low <= value <= high for low, high in _SENTINEL_RANGES)


@dataclass(frozen=True, slots=True)
class Measured:
    """A pod's number in the base unit, the time of its oldest sample, whether it missed a scrape since, its parts."""

    value: float
    time: float
    is_late: bool = False
    parts: frozenset[Part] = frozenset()


@dataclass(frozen=True, slots=True)
class Reading:
    """One input at one instant: values and bad pods, or the failure of the whole input."""

    values: Mapping[Entity, Measured] = field(default_factory=dict)
    bad: Mapping[Entity, Missing] = field(default_factory=dict)
    failure: Missing | None = None
    notes: tuple[str, ...] = ()


def parts_of(plan: InputPlan, members: list[Series], instant: float) -> list[Series] | Missing:
    """One series per part of a pod; series that only differ in other labels are one, or a duplicate."""
    if len(members) == 1:
        return members
    by_part: dict[Part, list[Series]] = defaultdict(list)
    for series in members:
        by_part[_part(plan, series)].append(series)
    chosen = []
    for same in by_part.values():
        one = same[0] if len(same) == 1 else _one_of(plan, same, instant)
        if isinstance(one, Missing):
            return one
        chosen.append(one)
    return chosen


def _part(plan: InputPlan, series: Series) -> Part:
    if plan.parts is not None:
        return tuple(series.label(label) for label in plan.parts)
    ignored = {*plan.per, *plan.by}
    return tuple(label for label in series.labels if label[0] not in ignored)


def _one_of(plan: InputPlan, same: list[Series], instant: float) -> Series | Missing:
    live = [series for series in same if not _is_late(series, instant)] or same
    first = min(live, key=lambda series: (-series.samples[-1].time, series.labels))
    if plan.reduce == "any" or all(series.samples[-1] == first.samples[-1] for series in live):
        return first
    differing = sorted(
        {name for series in live for name, value in series.labels if first.label(name) != value}
        | {name for name, value in first.labels for series in live if series.label(name) != value}
    )
    message = f"{plan.name}: {len(live)} series differ only in {', '.join(differing) or 'nothing'}, outside per"
    return Missing(Reason.DUPLICATE_SERIES, message)


def _is_late(series: Series, instant: float) -> bool:
    samples = series.samples
    if len(samples) < 2:
        return False
    times = [sample.time for sample in samples]
    intervals: list[float] = list(map(sub, times[1:], times))
    age = instant - times[-1]
    # The shortest interval is at most the median, so what is not late by it is not late.
    return bool(age > LATE_INTERVALS * min(intervals) + 1 and age > LATE_INTERVALS * median(intervals) + 1)


def read_entity(
    plan: InputPlan, series_plan: SeriesPlan, entity: Entity, parts: list[Series], instant: float
) -> Measured | Missing:
    values: list[float] = []
    times: list[float] = []
    is_late = False
    for series in parts:
        newest = series.samples[-1]
        if instant - newest.time > plan.max_age:
            age = instant - newest.time
            message = f"{_where(plan, entity)}: newest sample is {age:.0f} s old, at most {plan.max_age:g} s"
            return Missing(Reason.STALE, message)
        taken = _take(series_plan.take, series.samples, instant - plan.window)
        if isinstance(taken, Missing):
            return Missing(taken.reason, f"{_where(plan, entity)}: {taken.message}")
        values.append(taken)
        times.append(newest.time)
        is_late = is_late or _is_late(series, instant)
    value = plan.unit.to_base(_reduce(plan.reduce, values) * series_plan.scale)
    # Where any series of a pod will do, which one it is says nothing.
    named = () if plan.reduce == "any" else ((series_plan.name, *_part(plan, series)) for series in parts)
    return Measured(value, min(times), is_late, frozenset(named))


def _where(plan: InputPlan, entity: Entity) -> str:
    return f"{plan.name}: {'/'.join(entity) or 'the series'}"


def _take(take: Take, samples: tuple[Sample, ...], since: float) -> float | Missing:
    if take is Take.LATEST:
        return _checked(samples[-1].value)
    inside = [sample for sample in samples if sample.time >= since] or [samples[-1]]
    for sample in inside:
        checked = _checked(sample.value)
        if isinstance(checked, Missing):
            return checked
    if take is Take.LARGEST:
        return max(sample.value for sample in inside)
    if take is Take.EVENT:
        return max((b.time for a, b in pairwise(samples) if b.value != a.value and b.value > 0), default=0.0)
    if len(inside) < 2 or inside[-1].time <= inside[0].time:
        return Missing(Reason.EMPTY, "fewer than two samples in the window, so no rate yet")
    elapsed = inside[-1].time - inside[0].time
    if take is Take.CHANGE:
        return (inside[-1].value - inside[0].value) / elapsed
    return _increase(inside) / elapsed


def _increase(inside: Sequence[Sample]) -> float:
    """What a counter grew by. One that falls has been reset: what it shows afterwards is all new."""
    return fsum(b.value - a.value if b.value >= a.value else b.value for a, b in pairwise(inside))


def increase_of(samples: tuple[Sample, ...], since: float) -> float | None:
    """What a counter grew by since an instant; None with fewer than two usable samples."""
    inside = [sample for sample in samples if sample.time >= since]
    if len(inside) < 2 or any(isinstance(_checked(sample.value), Missing) for sample in inside):
        return None
    return _increase(inside)


def _checked(value: float) -> float | Missing:
    if 0 <= value < _SENTINEL_RANGES[0][0]:
        return value
    if isnan(value):
        return Missing(Reason.NOT_A_NUMBER, "the sample is not a number")
    if not isfinite(value):
        return Missing(Reason.INFINITE, f"the sample is {value:+g}")
    if is_sentinel(value):
        return Missing(Reason.SENTINEL, f"{value:.0f} is a mark for no value")
    if value < 0:
        return Missing(Reason.NEGATIVE, f"the sample is {value:g}, below 0")
    if value > MAX_VALUE:
        return Missing(Reason.TOO_LARGE, f"the sample is {value:g}, at most {MAX_VALUE} can be served")
    return value


def _reduce(how: str | None, values: list[float]) -> float:
    if len(values) == 1:
        return values[0]
    match how:
        case "mean":
            return fsum(values) / len(values)
        case "max":
            return max(values)
        case "min":
            return min(values)
        case _:
            return fsum(values)
