"""Histograms: percentiles of cumulative buckets, what they can tell and what they cannot.

Buckets are counts by upper bound, as Prometheus has them (`le`, cumulative, the last one +Inf). The top bucket has no
upper end, so a percentile in it is only a lower bound. Inference latency is bimodal, a hit in milliseconds and a miss
in seconds: a mean describes neither, so there is the share above a split, and the percentile of the slow mode alone.
Source: https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite


@dataclass(frozen=True, slots=True)
class Percentile:
    """A percentile in the unit of the bounds; a lower bound where it lies in the top bucket."""

    value: float
    is_lower_bound: bool


@dataclass(frozen=True, slots=True)
class Buckets:
    """Observations up to each bound, bounds ascending, the last +Inf; counts never fall."""

    bounds: tuple[float, ...]
    cumulative: tuple[float, ...]

    @property
    def total(self) -> float:
        """All observations."""
        return self.cumulative[-1]

    def up_to(self, bound: float) -> float:
        """Observations up to a value, by linear interpolation within its bucket."""
        lower, below = 0.0, 0.0
        for upper, count in zip(self.bounds, self.cumulative, strict=True):
            if bound <= upper:
                if not isfinite(upper) or upper == lower:
                    return below
                return below + (count - below) * max(0.0, bound - lower) / (upper - lower)
            lower, below = upper, count
        return below

    def percentile(self, quantile: float) -> Percentile | None:
        """The value below which the share of observations lies; None without observations."""
        return self._value_at(quantile * self.total) if self.total > 0 else None

    def share_above(self, split: float) -> float | None:
        """The share of observations above a split; None without observations."""
        return (self.total - self.up_to(split)) / self.total if self.total > 0 else None

    def slow_percentile(self, quantile: float, split: float) -> Percentile | None:
        """The percentile of those above the split alone; None where there are none."""
        below = self.up_to(split)
        slow = self.total - below
        return self._value_at(below + quantile * slow) if slow > 0 else None

    def _value_at(self, rank: float) -> Percentile:
        lower, below = 0.0, 0.0
        for upper, count in zip(self.bounds, self.cumulative, strict=True):
            if count >= rank and count > below:
                if not isfinite(upper):
                    return Percentile(lower, True)
                return Percentile(lower + (upper - lower) * max(0.0, rank - below) / (count - below), False)
            lower, below = upper, count
        return Percentile(lower, True)


def buckets_of(counts: Mapping[str, float], scale: float = 1.0) -> Buckets | None:
    """Buckets from counts by the text of `le`; None without a +Inf bucket or with a bound that is no number.

    `scale` makes base units of the bounds: 0.001 where they are in milliseconds.

    Counts of separate series can be off by a scrape; one that is below its predecessor is raised to it.
    """
    found: list[tuple[float, float]] = []
    for text, count in counts.items():
        try:
            found.append((float(text), count))
        except ValueError:
            return None
    found.sort()
    if not found or found[-1][0] != inf:
        return None
    cumulative: list[float] = []
    for _, count in found:
        cumulative.append(max(count, cumulative[-1]) if cumulative else count)
    return Buckets(tuple(bound * scale for bound, _ in found), tuple(cumulative))
