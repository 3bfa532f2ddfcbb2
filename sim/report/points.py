"""Points: what the report keeps of a sync, and which syncs it keeps.

A run of two weeks has 80,640 syncs at 15 s, more than a screen has columns and a file of 2 MB has room. Kept are the
first and the last, every rescale and every change of the reasons, of both runs where there is a baseline, and of each
stretch of syncs those with the least and the most of the signal, the demand and the ready pods. A short run is kept
whole. What is counted (scores, rescales) is counted over all syncs.
"""

from dataclasses import dataclass
from enum import IntEnum
from math import ceil

from sim.replay.decision_log import time_of
from sim.replay.steps import SyncStep
from sim.report.arithmetic import arithmetic, kind_of
from sim.report.ghost import Ghost, GhostPoint, value_of

STRETCHES = 600
"""Screens have a few thousand columns; 600 stretches with up to 8 points each are 4,800."""

MAX_KEPT = 20_000
"""Rescales, and changes, beyond this are told, not kept: a run that flaps for a year must not fill the memory."""


class Rank(IntEnum):
    """How much a point matters, where not all fit into the file; the ends of the run count as rescales."""

    RESCALE = 0
    CHANGE = 1
    EXTREME = 2


@dataclass(frozen=True, slots=True)
class Point:
    """One sync as the report shows it."""

    t: float | int
    rank: Rank
    kind: str
    columns: dict[str, float | int | str | None]
    reasons: tuple[str, ...]
    lines: tuple[str, ...]
    change: str = ""
    """For a rescale, e.g. 3 → 4."""


def point_of(step: SyncStep, rank: Rank, ghost: GhostPoint | None) -> Point:
    """The point of a sync; a number that was not there is None."""
    account = step.account
    columns: dict[str, float | int | str | None] = {
        "proposal": account.proposal,
        "stabilized": account.stabilized,
        "limited": step.desired,
        "ready": step.ready,
        "before": step.replicas,
        "base_replicas": None if ghost is None else ghost.replicas,
    }
    for number, metric in enumerate(step.metrics):
        why = metric.outcome.why if metric.outcome is not None else None
        columns[f"signal{number}"] = value_of(metric)
        columns[f"missing{number}"] = None if metric.text is not None else metric.reason or "missing"
        columns[f"up{number}"] = None if why is None else why.up
        columns[f"down{number}"] = None if why is None else why.down
        columns[f"base_signal{number}"] = None if ghost is None else ghost.signals[number]
        for term in why.terms if why is not None else ():
            columns[f"term{number} {term.name}"] = term.up
    change = f"{step.replicas} → {step.desired}" if step.is_rescale else ""
    return Point(time_of(step), rank, kind_of(step), columns, step.reasons, tuple(arithmetic(step)), change)


class Collector:
    """Takes the syncs of a run in order and keeps the points of the report."""

    def __init__(self, expected_syncs: int, ghost: Ghost | None = None) -> None:
        self.stretch = max(1, ceil(expected_syncs / STRETCHES)) if expected_syncs > 8 * STRETCHES else 1
        self.syncs = self.left_out = self.rescales = 0
        self.points: list[Point] = []
        self._ghost = ghost
        self._kept = dict.fromkeys(Rank, 0)
        self._last: SyncStep | None = None
        self._last_ghost: GhostPoint | None = None
        self._chosen: dict[int, Rank] = {}
        self._stretch: list[SyncStep] = []

    def add(self, step: SyncStep) -> None:
        """Take one sync."""
        self.rescales += step.is_rescale
        rank = self._rank(step)
        if rank is not None and self._kept[rank] >= MAX_KEPT:
            self.left_out += 1
            rank = None
        if rank is not None:
            self._kept[rank] += 1
            self._chosen[len(self._stretch)] = rank
        self._stretch.append(step)
        self.syncs += 1
        self._last = step
        if len(self._stretch) >= self.stretch:
            self._close()

    def finish(self) -> None:
        """The last stretch, and the last sync."""
        if self._stretch:
            self._chosen[len(self._stretch) - 1] = Rank.RESCALE
            self._close()
        elif self._last is not None and self.points[-1].t != time_of(self._last):
            self.points.append(self._point(self._last, Rank.RESCALE))

    def _rank(self, step: SyncStep) -> Rank | None:
        ghost = None if self._ghost is None else self._ghost.at(step.t)
        before, self._last_ghost = self._last_ghost, ghost
        if step.is_rescale or self._last is None:
            return Rank.RESCALE
        ghost_moves = ghost is not None and before is not None and ghost.replicas != before.replicas
        return Rank.CHANGE if ghost_moves or self._last.reasons != step.reasons else None

    def _close(self) -> None:
        steps = self._stretch
        for series in _extremes_of(steps):
            known = [(value, place) for place, value in enumerate(series) if value is not None]
            for _, place in (min(known), max(known)) if known else ():
                self._chosen.setdefault(place, Rank.EXTREME)
        self.points += [self._point(steps[place], self._chosen[place]) for place in sorted(self._chosen)]
        self._stretch, self._chosen = [], {}

    def _point(self, step: SyncStep, rank: Rank) -> Point:
        return point_of(step, rank, None if self._ghost is None else self._ghost.at(step.t))


def _extremes_of(steps: list[SyncStep]) -> list[list[float | int | None]]:
    """The series of a stretch whose least and most are kept."""
    found: list[list[float | int | None]] = [[one.ready for one in steps], [one.account.proposal for one in steps]]
    for number in range(len(steps[0].metrics)):
        metrics = [one.metrics[number] for one in steps]
        found.append([value_of(one) for one in metrics])
        found.append([one.outcome.why.up if one.outcome is not None and one.outcome.why else None for one in metrics])
    return found
