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
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer, Sample, Series
from adapter.core.signals import GroupSignal, Signal
from adapter.poller import PolicyPoller, within
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
    board, times = Shown(), iter([1000.5, 1000.5, 1000.5, 1001.5, 990.5])

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
    # The first is the tick that was due when the poller started.
    assert board.signals == [(1000.0, 998.0), (1001.0, 999.0), (1002.0, 1000.0), (991.0, 989.0)]


HISTORY = Answer((Series((("pod", "a"),), tuple(Sample(float(time), time) for time in range(100, 131, 5))),))
"""A sample each 5 s, the first and the last of a range of 30 s on its very ends."""


def answered(instant: float, lookback: float, left_open: bool) -> Answer:
    """What Prometheus 2 (both ends count) or 3 (the older end does not) says to `x[lookback]` at an instant."""
    since = instant - lookback
    kept = [one for one in HISTORY.series[0].samples if since <= one.time <= instant]
    kept = [one for one in kept if not (left_open and one.time == since)]
    return Answer((Series(HISTORY.series[0].labels, tuple(kept)),))


@pytest.mark.parametrize("left_open", [False, True], ids=["prometheus-2", "prometheus-3"])
def test_a_tick_is_the_same_from_its_own_answer_and_from_the_history_of_any_prometheus(left_open: bool) -> None:
    own = within(answered(120, 15, left_open), 120, 15)
    refilled = within(answered(130, 25, left_open), 120, 15)
    assert own == refilled
    # Of 105, 110, 115 and 120 the first is exactly as old as the range and counts for neither.
    assert [sample.time for sample in own.series[0].samples] == [110, 115, 120]


def test_a_series_of_which_nothing_counts_is_not_there() -> None:
    assert within(answered(105, 5, left_open=False), 105, 5).series[0].samples == (Sample(105.0, 105),)
    assert within(HISTORY, 99, 5).series == ()
    failed = Answer(failure=Missing(Reason.UPSTREAM_ERROR, "down"))
    assert within(failed, 99, 5) is failed


def test_of_a_computed_history_the_very_instant_counts() -> None:
    assert within(HISTORY, 115, None).series[0].samples == (Sample(115.0, 115),)
    assert within(HISTORY, 116, None).series == ()


class Counting:
    """A source that takes all the time it is given, and notes how much that was."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def instant(self, query: str, at: float, seconds: float) -> Answer:
        self.seconds.append(seconds)
        return Answer(failure=Missing(Reason.UPSTREAM_TIMEOUT, "slow"))


def test_no_query_may_take_longer_than_every_the_one_that_refills_the_memory_neither(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (loaded,), _ = read_policies(policy_text("a"), "a.yaml", LIBRARY)
    source, times = Counting(), iter([1000.5, 1000.5])

    async def sleep(instant: float) -> None:
        await asyncio.sleep(0)

    def now() -> float:
        try:
            return next(times)
        except StopIteration:
            raise asyncio.CancelledError from None

    monkeypatch.setattr(clock, "now", now)
    monkeypatch.setattr(clock, "sleep_until", sleep)
    poller = PolicyPoller(loaded, cast(Asker, source), cast(Board, Silent()), Telemetry())
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(poller.run())
    # every: 1s; once for the memory at the start, then the tick that is due; the memory is next tried 15 s later.
    assert len(source.seconds) == 2
    assert max(source.seconds) <= 1.0


class Silent:
    """A board that is not looked at."""

    def publish(self, loaded: LoadedPolicy, t: float, groups: Sequence[GroupSignal]) -> None:
        pass
