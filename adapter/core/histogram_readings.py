"""Readings of histograms: the buckets of all pods together as one percentile, or one share.

Percentiles of single pods cannot be combined, their buckets can: so the increases of each bucket are added over pods
and engines first. Knows nothing of terms.
"""

from collections import defaultdict
from collections.abc import Mapping
from math import fsum

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
    counts: dict[str, list[float]] = defaultdict(list)
    times: list[float] = []
    for members in entities.values():
        parts = parts_of(plan, members, instant)
        if isinstance(parts, Missing):
            return Reading(failure=parts)
        for series in parts:
            if instant - series.samples[-1].time > plan.max_age:
                continue
            increase = increase_of(series.samples, instant - plan.window)
            if increase is not None:
                counts[series.label("le")].append(increase)
                times.append(series.samples[-1].time)
    if not counts:
        missing = Missing(Reason.STALE, f"{plan.name}: no bucket has two samples within {plan.window:g} s")
        return Reading(failure=missing)
    buckets = buckets_of({bound: fsum(values) for bound, values in counts.items()}, plan.series[0].scale)
    if buckets is None:
        return Reading(failure=Missing(Reason.NOT_A_NUMBER, f"{plan.name}: the series are no buckets: no le of +Inf"))
    value, note = _histogram_value(plan.name, wanted, buckets)
    return Reading({("",) * len(plan.per): Measured(value, min(times))}, notes=(note,) if note else ())


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
