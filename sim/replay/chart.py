"""The terminal chart of a run: replicas, ready pods and demand over time, in as many columns as there are.

Each column keeps what was highest in its time, so that a spike is seen however long the run is. Plain text: it stands
in a log as well as on a screen.
"""

from dataclasses import dataclass
from math import ceil

from sim.replay.steps import SyncStep
from sim.scores import demand_of

HEIGHT = 12
MAX_WIDTH = 160


@dataclass(slots=True)
class _Column:
    """The highest of each kind in one column; `lacks` where a sync had no metric."""

    replicas: int = 0
    ready: int = 0
    demand: int | None = None
    lacks: bool = False


class Chart:
    """Collects a run of so many syncs into columns."""

    def __init__(self, syncs: int, width: int) -> None:
        self._each = max(1, ceil(syncs / max(1, min(width, MAX_WIDTH))))
        self._columns: list[_Column] = []
        self._count = 0
        self._start: float | None = None
        self._end = 0.0

    def add(self, step: SyncStep) -> None:
        """Take in one sync."""
        if self._count % self._each == 0 and len(self._columns) < MAX_WIDTH:
            self._columns.append(_Column())
        self._count += 1
        self._start = step.t if self._start is None else self._start
        self._end = step.t
        column = self._columns[-1]
        column.replicas = max(column.replicas, step.desired)
        column.ready = max(column.ready, step.ready)
        demand = demand_of(step)
        if demand is None:
            column.lacks = True
        else:
            column.demand = demand if column.demand is None else max(column.demand, demand)

    def lines(self) -> list[str]:
        """The chart; nothing where nothing was seen."""
        if not self._columns or self._start is None:
            return []
        top = max(1, *(max(one.replicas, one.demand or 0) for one in self._columns))
        each = max(1, ceil(top / HEIGHT))
        rows = ceil(top / each)
        margin = len(str(top))
        found = []
        for row in range(rows, 0, -1):
            low, high = (row - 1) * each, row * each
            cells = "".join(_cell(one, low, high) for one in self._columns)
            found.append(f"{high:>{margin}} ┤{cells}")
        marks = "".join("!" if one.lacks else "─" for one in self._columns)
        begin, end = _time(self._start), _time(self._end)
        found.append(f"{'':>{margin}} └{marks}")
        found.append(f"{'':>{margin}}  {begin}{end:>{max(1, len(self._columns) - len(begin))}}")
        legend = "█ ready  ▒ not ready yet  ● demand above the replicas  ! a sync without a metric"
        found.append(f"{'':>{margin}}  {legend}")
        return found


def _cell(column: _Column, low: int, high: int) -> str:
    """What stands in a column between two numbers of replicas."""
    if column.ready > low:
        return "█"
    if column.replicas > low:
        return "▒"
    return "●" if column.demand is not None and low < column.demand <= high else " "


def _time(seconds: float) -> str:
    """A time on the trace's clock, short: 90 s, 2:30 h, 13 d 4 h."""
    sign, whole = ("-" if seconds < 0 else ""), int(abs(seconds))
    if whole < 600:
        return f"{sign}{whole} s"
    if whole < 172_800:
        return f"{sign}{whole // 3600}:{whole % 3600 // 60:02d} h"
    return f"{sign}{whole // 86_400} d {whole % 86_400 // 3600} h"
