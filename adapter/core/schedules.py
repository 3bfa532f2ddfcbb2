"""Schedules: which floors and ceilings are in force at an instant.

A schedule is in force from each time its cron expression names, in its own zone, for as long as it says. Pure: the
instant is given, and zones are tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SchedulePlan:
    """One schedule; `seconds` is how long it is in force."""

    cron: str
    zone: str
    seconds: float
    floor: float | None
    ceiling: float | None

    def is_in_force(self, t: float) -> bool:
        """Whether the schedule began within its time before the instant (epoch seconds)."""
        now = datetime.fromtimestamp(t, ZoneInfo(self.zone))
        begin = now - timedelta(seconds=self.seconds)
        first = next(CronSim(self.cron, begin), None)  # the first beginning after `begin`
        return first is not None and first <= now


def limits(schedules: Sequence[SchedulePlan], t: float) -> tuple[float | None, float | None, list[str]]:
    """The highest floor and the lowest ceiling in force at an instant, with their words."""
    active = [one for one in schedules if one.is_in_force(t)]
    floors = [one.floor for one in active if one.floor is not None]
    ceilings = [one.ceiling for one in active if one.ceiling is not None]
    return max(floors, default=None), min(ceilings, default=None), [f"schedule {one.cron} {one.zone}" for one in active]
