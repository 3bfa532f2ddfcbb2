"""Pollers: one task a policy, which asks, evaluates and publishes on the policy's grid.

A policy is evaluated at t = k × every, epoch-aligned and never before t is due; its queries are asked for t - offset.
The first is the tick that is due when it starts, so that a value is there at once and is the one of the other replica.
Its memory is exactly memory ÷ every ticks. Ticks that are missing (at the start, or after a stall) are fetched again
and never served. One policy's slow source never delays another's.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

import structlog

from adapter import clock
from adapter.asking import Asker
from adapter.board import Board
from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer, Series
from adapter.core.ticks import Known, Tick, read_tick, shared
from adapter.telemetry import Telemetry

MAX_QUERY_SECONDS = 10.0
REFILL_RETRY_SECONDS = 15.0
MAX_REFILL_TRIES = 20
POLICY_QUERIES_AT_ONCE = 8
STARTS_AT_ONCE = 16
TURN_SECONDS = 1.0
INLINE_SERIES = 100
"""About 10 ms of reading and evaluating; a fleet of 10,000 signals takes a second and more."""

T = TypeVar("T")

_log = structlog.get_logger("scaleproof.poller")


class Turns:
    """Lets few pollers begin at once, so that the first values are there before the last policy's memory is fetched.

    Whoever has waited a second begins all the same: a slow source of others delays nobody for longer.
    """

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(STARTS_AT_ONCE)

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """A turn, for as long as the block runs."""
        is_held = False
        with suppress(TimeoutError):
            async with asyncio.timeout(TURN_SECONDS):
                await self._free.acquire()
                is_held = True
        try:
            yield
        finally:
            if is_held:
                self._free.release()


class PolicyPoller:
    """Runs one policy for as long as its task lives."""

    def __init__(
        self, loaded: LoadedPolicy, asker: Asker, board: Board, telemetry: Telemetry, turns: Turns | None = None
    ) -> None:
        self._loaded, self._plan = loaded, loaded.plan
        self._turns = turns or Turns()
        self._asker, self._board, self._telemetry = asker, board, telemetry
        self._ticks: dict[int, Tick] = {}
        self._known: Known = {}
        self._at_once = asyncio.Semaphore(POLICY_QUERIES_AT_ONCE)
        self._refill_tries = 0
        self._next_refill = 0.0

    async def run(self) -> None:
        """Evaluate on the grid until cancelled."""
        every = self._plan.every
        async with self._turns.one():
            k = int(clock.now() // every)
            await self._guarded(self._refill(k - 1), k)
            k = int(clock.now() // every)  # a later one where much had to be read
            await self._guarded(self._tick(k), k)
        while True:
            k = int(clock.now() // every) + 1
            await clock.sleep_until(k * every)
            await self._guarded(self._tick(k), k)

    async def _guarded(self, step: Coroutine[None, None, None], k: int) -> None:
        """One policy's fault must end neither the others nor its own next tick; it is logged and counted."""
        try:
            await step
        except Exception:
            self._telemetry.evaluation_failed(self._loaded.policy.key)
            _log.exception("evaluation-failed", policy="/".join(self._loaded.policy.key), t=k * self._plan.every)

    async def _tick(self, k: int) -> None:
        t = k * self._plan.every
        started = clock.monotonic()
        # Both at once, so that a tick takes no longer than its queries may.
        answers, _ = await asyncio.gather(self._ask_all(t - self._plan.offset), self._refill_if_due(k))
        size = sum(len(answer.series) for answer in answers.values())
        await self._keep(k, lambda: answers, size)
        # Ticks after this one are there where the clock was set back; they are not yet.
        for other in [one for one in self._ticks if not k - self._plan.memory_ticks < one <= k]:
            del self._ticks[other]
        window = [self._ticks[one] for one in sorted(self._ticks)]
        groups = await _worked(lambda: evaluate(self._plan, self._loaded.rules, window), size)
        self._board.publish(self._loaded, t, groups)
        self._telemetry.evaluated(self._loaded, t, groups, clock.monotonic() - started)

    async def _keep(self, k: int, answers: Callable[[], Mapping[str, Answer]], size: int) -> None:
        known, t = self._known, k * self._plan.every
        self._ticks[k], self._known = await _worked(lambda: shared(read_tick(self._plan, t, answers()), known), size)

    async def _ask_all(self, instant: float) -> Mapping[str, Answer]:
        budget = min(MAX_QUERY_SECONDS, self._plan.every)
        end = clock.monotonic() + budget

        async def one(query: str, is_raw: bool) -> tuple[str, Answer]:
            async with self._at_once:
                rest = end - clock.monotonic()
                if rest <= 0:
                    missing = Missing(Reason.UPSTREAM_TIMEOUT, f"no time was left of {budget:g} s")
                    return query, Answer(failure=missing)
                answer = await self._asker.instant(self._plan.asked(query, is_raw), instant, rest)
                return query, within(answer, instant, self._plan.lookback) if is_raw else answer

        return dict(await asyncio.gather(*(one(query, is_raw) for query, is_raw in self._plan.queries)))

    def _missing_ticks(self, last: int) -> list[int]:
        first = last - self._plan.memory_ticks + 2
        return [k for k in range(first, last + 1) if k not in self._ticks]

    async def _refill_if_due(self, k: int) -> None:
        is_due = self._refill_tries < MAX_REFILL_TRIES and clock.monotonic() >= self._next_refill
        has_gap = bool(self._ticks) and k - 1 not in self._ticks
        if has_gap or is_due:
            await self._refill(k - 1)

    async def _refill(self, last: int) -> None:
        """Fetch the ticks that the memory lacks, up to the last; what cannot be had is tried again later."""
        missing = self._missing_ticks(last)
        if not missing:
            return
        self._refill_tries += 1
        self._next_refill = clock.monotonic() + REFILL_RETRY_SECONDS
        first, every = missing[0], self._plan.every
        end = clock.monotonic() + min(MAX_QUERY_SECONDS, every)
        asked = (self._history(query, is_raw, first, last, end) for query, is_raw in self._plan.queries)
        histories = dict(await asyncio.gather(*asked))
        if any(answer.failure is not None for answer in histories.values()):
            return
        size = sum(len(answer.series) for answer in histories.values())
        for k in missing:
            await self._keep(k, partial(self._slices, histories, k * every - self._plan.offset), size)
        self._refill_tries = 0

    def _slices(self, histories: Mapping[str, Answer], instant: float) -> Mapping[str, Answer]:
        return {
            query: within(histories[query], instant, self._plan.lookback if is_raw else None)
            for query, is_raw in self._plan.queries
        }

    async def _history(self, query: str, is_raw: bool, first: int, last: int, end: float) -> tuple[str, Answer]:
        """All samples from the first tick's look-back to the last tick, or a derived query on the grid."""
        every, offset = self._plan.every, self._plan.offset
        async with self._at_once:
            seconds = max(0.001, end - clock.monotonic())
            asked = self._plan.asked(query, is_raw, (last - first) * every)
            if is_raw:
                return query, await self._asker.instant(asked, last * every - offset, seconds)
            start, stop = first * every - offset, last * every - offset
            return query, await self._asker.range(asked, start, stop, every, seconds)


async def _worked(work: Callable[[], T], series: int) -> T:
    """Do a piece of work here, or in a thread if it is long, so that GETs are answered meanwhile."""
    if series <= INLINE_SERIES:
        return work()
    return await asyncio.to_thread(work)


def within(answer: Answer, instant: float, lookback: float | None) -> Answer:
    """What is after instant - lookback, and not after the instant, out of an answer; None: the very instant only.

    Prometheus 2 counts a sample exactly as old as the range, 3 does not. Here none counts, whichever was asked, and
    whether a tick was asked for by itself or is cut from the history that refills a memory.
    """
    if lookback is None:
        return Answer(tuple(cut for one in answer.series if (cut := _cut(one, instant - 0.0005, instant + 0.0005))))
    since = instant - lookback
    if all(since < one.samples[0].time and one.samples[-1].time <= instant for one in answer.series):
        return answer
    return replace(answer, series=tuple(cut for one in answer.series if (cut := _cut(one, since, instant))))


def _cut(series: Series, since: float, until: float) -> Series | None:
    kept = tuple(sample for sample in series.samples if since < sample.time <= until)
    return Series(series.labels, kept) if kept else None
