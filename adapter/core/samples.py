"""Samples: labelled numbers with their own time, as a source gave them.

The same types carry a Prometheus answer and a row of a trace, so that everything behind them is one path.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from adapter.core.reasons import Missing

Labels = tuple[tuple[str, str], ...]


def labels_of(mapping: Mapping[str, str]) -> Labels:
    """Labels in their one order, so that equal label sets are equal tuples."""
    return tuple(sorted(mapping.items()))


@dataclass(frozen=True, slots=True)
class Sample:
    """One number and when it was taken, in epoch seconds."""

    value: float
    time: float


@dataclass(frozen=True, slots=True)
class Series:
    """The samples of one label set, oldest first, at least one."""

    labels: Labels
    samples: tuple[Sample, ...]

    def label(self, name: str) -> str:
        """The label's value, or "" where it is absent, as in PromQL."""
        for key, value in self.labels:
            if key == name:
                return value
        return ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a source said to one query: series in any order, or why there is nothing to use."""

    series: tuple[Series, ...] = ()
    failure: Missing | None = None
