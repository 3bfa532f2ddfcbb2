"""A memory of ticks that knows what it holds without looking at all of it at each evaluation.

What an evaluation asks of every tick (which pods an input gave, whether names of ready pods were told) is kept up to
date as ticks come and go. The answers are those of a plain list of the same ticks: it is an index, not a state.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from typing import overload

from adapter.core.readings import GroupKey
from adapter.core.series_readings import Entity, Part
from adapter.core.ticks import Tick

Signature = tuple[tuple[Entity, frozenset[Part]], ...]


class _Runs:
    """What one input gave for one group, in runs of ticks at which it was the same."""

    __slots__ = ("looked_at", "runs", "union")

    def __init__(self) -> None:
        self.looked_at = 0
        self.runs: deque[tuple[Signature, int]] = deque()
        self.union: dict[Entity, frozenset[Part]] | None = None

    def add(self, signature: Signature, number: int) -> None:
        if self.runs and self.runs[-1][0] == signature:
            self.runs[-1] = (signature, number)
        else:
            self.runs.append((signature, number))
            self.union = None

    def seen(self, oldest: int) -> dict[Entity, frozenset[Part]]:
        while self.runs and self.runs[0][1] < oldest:
            self.runs.popleft()
            self.union = None
        if self.union is None:
            self.union = {}
            for signature, _ in self.runs:
                for entity, parts in signature:
                    self.union[entity] = self.union.get(entity, parts) | parts
        return self.union


class TickMemory(Sequence[Tick]):
    """The last so many ticks, oldest first."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._ticks: list[Tick] = []
        self._first = 0  # the number of the oldest tick, counted from the first ever
        self._runs: dict[tuple[str, GroupKey], _Runs] = {}
        self._named: dict[GroupKey, tuple[int, int]] = {}

    def append(self, tick: Tick) -> None:
        """The newest tick; the oldest goes where there are too many."""
        self._ticks.append(tick)
        if len(self._ticks) > self._limit:
            del self._ticks[0]
            self._first += 1

    def clear(self) -> None:
        """Forget everything."""
        self._first += len(self._ticks)
        self._ticks.clear()

    def __len__(self) -> int:
        return len(self._ticks)

    def __iter__(self) -> Iterator[Tick]:
        return iter(self._ticks)

    @overload
    def __getitem__(self, place: int) -> Tick: ...
    @overload
    def __getitem__(self, place: slice) -> list[Tick]: ...
    def __getitem__(self, place: int | slice) -> Tick | list[Tick]:
        return self._ticks[place]

    def seen(self, name: str, group: GroupKey) -> dict[Entity, frozenset[Part]]:
        """The pods that an input gave at any of the ticks, each with all its parts; not to be changed."""
        runs = self._runs.get((name, group))
        if runs is None:
            runs = self._runs[name, group] = _Runs()
        end = self._first + len(self._ticks)
        for number in range(max(runs.looked_at, self._first), end):
            values = self._ticks[number - self._first].inputs[name].of(group, name).values
            if values:
                runs.add(tuple([(entity, measured.parts) for entity, measured in values.items()]), number)
        runs.looked_at = end
        return runs.seen(self._first)

    def had_names(self, group: GroupKey) -> bool:
        """Whether names of ready pods were told at any of the ticks."""
        looked_at, last = self._named.get(group, (0, -1))
        end = self._first + len(self._ticks)
        for number in range(max(looked_at, self._first), end):
            pods = self._ticks[number - self._first].pods
            if pods is not None and pods.of(group, "ready pods").values:
                last = number
        self._named[group] = (end, last)
        return last >= self._first
