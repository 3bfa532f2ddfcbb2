"""The ghost: the run of a baseline on the same trace, remembered in the least that its lines on the plots need."""

from array import array
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from math import isnan, nan

from sim.policy_tests.expectations import quantity
from sim.replay.steps import MetricStep, SyncStep
from sim.scores import Scores


def value_of(metric: MetricStep) -> float | None:
    """What the controller reads of a metric: the items of several groups are added up."""
    return None if metric.text is None else sum(quantity(item) for item in metric.text.split("+"))


@dataclass(frozen=True, slots=True)
class GhostPoint:
    """The baseline at a time."""

    replicas: int
    signals: tuple[float | None, ...]


class Ghost:
    """The baseline's syncs, 8 bytes a number, so that two weeks are 3 MB; `metrics` is how many the run has."""

    def __init__(self, name: str, steps: Iterable[SyncStep], metrics: int) -> None:
        self.name = name
        self.scores: Scores | None = None
        self._times, self._replicas = array("d"), array("q")
        self._signals = [array("d") for _ in range(metrics)]
        for step in steps:
            self._times.append(step.t)
            self._replicas.append(step.desired)
            values = [value_of(one) for one in step.metrics]
            for place, signals in enumerate(self._signals):
                value = values[place] if place < len(values) else None
                signals.append(nan if value is None else value)

    def at(self, t: float) -> GhostPoint | None:
        """The newest sync that is not after t; None before the first."""
        place = bisect_right(self._times, t) - 1
        if place < 0:
            return None
        signals = tuple(None if isnan(one[place]) else one[place] for one in self._signals)
        return GhostPoint(self._replicas[place], signals)
