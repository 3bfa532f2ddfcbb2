"""The poller by itself, on a clock that the test sets: which ticks it evaluates and what it shows for them."""

import asyncio
from collections.abc import Sequence
from typing import cast

import pytest
from grid_policies import policy_text
from policy_world import LIBRARY

from adapter import clock
from adapter.asking import Asker
from adapter.board import Board
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.samples import Answer, Sample, Series
from adapter.core.signals import GroupSignal, Signal
from adapter.poller import PolicyPoller
from adapter.telemetry import Telemetry


class Steady:
    """A source that says 70 at the very instant asked for."""

    async def instant(self, query: str, at: float, seconds: float) -> Answer:
        return Answer((Series((("instance", "gw"),), (Sample(70.0, at),)),))


class Shown:
    """A board that keeps what was put up: the tick, and the time of its oldest sample."""

    def __init__(self) -> None:
        self.signals: list[tuple[float, float]] = []

    def publish(self, loaded: LoadedPolicy, t: float, groups: Sequence[GroupSignal]) -> None:
        (group,) = groups
        assert isinstance(group.outcome, Signal)
        self.signals.append((t, group.outcome.as_of))


def test_after_the_clock_is_set_back_nothing_of_the_time_to_come_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    (loaded,), _ = read_policies(policy_text("a"), "a.yaml", LIBRARY)
    board, times = Shown(), iter([1000.5, 1000.5, 1001.5, 990.5])

    async def sleep(instant: float) -> None:
        await asyncio.sleep(0)

    def now() -> float:
        try:
            return next(times)
        except StopIteration:
            raise asyncio.CancelledError from None

    monkeypatch.setattr(clock, "now", now)
    monkeypatch.setattr(clock, "sleep_until", sleep)
    poller = PolicyPoller(loaded, cast(Asker, Steady()), cast(Board, board), Telemetry())
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(poller.run())
    # The samples are as old as the instant asked for, which is the tick less the offset of 2 s.
    assert board.signals == [(1001.0, 999.0), (1002.0, 1000.0), (991.0, 989.0)]
