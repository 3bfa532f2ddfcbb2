"""Readings of histograms: the buckets of all pods together as one percentile, or one share.

Percentiles of single pods cannot be combined, their buckets can: so the increases of each bucket are added over pods
and engines first. Knows nothing of terms.
"""

from collections import defaultdict
from collections.abc import Mapping
from math import fsum, inf

from adapter.core.histograms import Buckets, buckets_of
from adapter.core.input_plans import HistogramPlan, InputPlan
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Series
from adapter.core.series_readings import Entity, Measured, Reading, increase_of, parts_of


def read_histogram(plan: InputPlan, entities: Mapping[Entity, list[Series]], instant: float) -> Reading:
    """The percentile or share of all pods' requests together, of the window that ends at the instant."""
    wanted = plan.histogram
    if wanted is None:
        raise TypeError(f"{plan.name} is no histogram")
    if wanted.cache is None:
        return _read(plan, wanted, entities, instant)
    split = wanted.cache
    known = {entity: [one for one in series if one.label(split.label)] for entity, series in entities.items()}
    hits = {entity: [one for one in series if one.label(split.label) == split.hit] for entity, series in known.items()}
    if not any(known.values()):
        # Without the label hits and misses are mixed, and a percentile of both describes neither.
        message = f"{plan.name}: no series has the label {split.label}, so hits and misses cannot be told apart"
        return Reading(failure=Missing(Reason.EMPTY, message))
    match split.read:
        case "hits":
            return _read(plan, wanted, hits, instant)
        case "misses":
            misses = {entity: [one for one in series if one not in hits[entity]] for entity, series in known.items()}
            return _read(plan, wanted, misses, instant)
        case "share_of_hits":
            return _share_of_hits(plan, wanted.min_count, known, hits, instant)


def _share_of_hits(
    plan: InputPlan,
    min_count: float,
    known: Mapping[Entity, list[Series]],
    hits: Mapping[Entity, list[Series]],
    instant: float,
) -> Reading:
    """Requests that hit ÷ all of the window; no value with too few, since a share of three is no share."""
    every = _collect(plan, known, instant)
    if isinstance(every, Missing):
        return Reading(failure=every)
    hit = _collect(plan, hits, instant)
    hit_count = 0.0 if isinstance(hit, Missing) else _total(hit[0])
    count = _total(every[0])
    if count < max(min_count, 1e-9):
        message = f"{plan.name}: {count:.6g} requests, fewer than {min_count:g}: no share can be told"
        return Reading(failure=Missing(Reason.EMPTY, message))
    return Reading({("",) * len(plan.per): Measured(hit_count / count, every[1])})


def _total(counts: Mapping[str, float]) -> float:
    return next((count for bound, count in counts.items() if float(bound) == inf), 0.0)


def _read(plan: InputPlan, wanted: HistogramPlan, entities: Mapping[Entity, list[Series]], instant: float) -> Reading:
    collected = _collect(plan, entities, instant)
    if isinstance(collected, Missing):
        return Reading(failure=collected)
    counts, oldest = collected
    buckets = buckets_of(counts, plan.series[0].scale)
    if buckets is None:
        return Reading(failure=Missing(Reason.NOT_A_NUMBER, f"{plan.name}: the series are no buckets: no le of +Inf"))
    value, note = _histogram_value(plan.name, wanted, buckets)
    return Reading({("",) * len(plan.per): Measured(value, oldest)}, notes=(note,) if note else ())


def _collect(
    plan: InputPlan, entities: Mapping[Entity, list[Series]], instant: float
) -> tuple[dict[str, float], float] | Missing:
    """What each bucket of all pods together grew by in the window, and the time of the oldest sample."""
    counts: dict[str, list[float]] = defaultdict(list)
    times: list[float] = []
    for members in entities.values():
        parts = parts_of(plan, members, instant)
        if isinstance(parts, Missing):
            return parts
        for series in parts:
            if instant - series.samples[-1].time > plan.max_age:
                continue
            increase = increase_of(series.samples, instant - plan.window)
            if increase is not None:
                counts[series.label("le")].append(increase)
                times.append(series.samples[-1].time)
    if not counts:
        return Missing(Reason.STALE, f"{plan.name}: no bucket has two samples within {plan.window:g} s")
    return {bound: fsum(values) for bound, values in counts.items()}, min(times)


def _histogram_value(name: str, wanted: HistogramPlan, buckets: Buckets) -> tuple[float, str]:
    if buckets.total < max(wanted.min_count, 1e-9):
        return 0.0, f"{name}: {buckets.total:.6g} requests, fewer than {wanted.min_count:g}: it says nothing"
    if wanted.share_above is not None:
        return buckets.share_above(wanted.share_above) or 0.0, ""
    if wanted.slower_than is not None:
        found = buckets.slow_percentile(wanted.quantile, wanted.slower_than)
    else:
        found = buckets.percentile(wanted.quantile)
    if found is None:
        return 0.0, f"{name}: no request is slower than {wanted.slower_than or 0:g} s"
    return found.value, f"{name}: in the top bucket, so at least {found.value:g}" if found.is_lower_bound else ""
