"""Pollers: one task a policy, which asks, evaluates and publishes on the policy's grid.

A policy is evaluated at t = k × every, epoch-aligned and never before t is due; its queries are asked for t - offset.
The first is the tick that is due when it starts, so that a value is there at once and is the one of the other replica.
Its memory is exactly memory ÷ every ticks. Ticks that are missing (at the start, or after a stall) are fetched again
and never served. One policy's slow source never delays another's.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TypeVar

import structlog

from adapter import clock
from adapter.board import Board
from adapter.core import promql
from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer, Series
from adapter.core.ticks import Known, Tick, read_tick, shared
from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource
from adapter.telemetry import Telemetry

MAX_QUERY_SECONDS = 10.0
LEAST_REFILL_SECONDS = 2.0
REFILL_RETRY_SECONDS = 15.0
MAX_REFILL_TRIES = 20
POLICY_QUERIES_AT_ONCE = 8
MAX_THREADS = 64
STARTS_AT_ONCE = 16
TURN_SECONDS = 1.0
INLINE_SERIES = 100
"""About 10 ms of reading and evaluating; a fleet of 10,000 signals takes a second and more."""

T = TypeVar("T")

_log = structlog.get_logger("scaleproof.poller")


class Asker:
    """Asks a blocking source from threads, each query bounded in time even if its thread is not back yet."""

    def __init__(self, source: PrometheusSource) -> None:
        self._source = source
        self._threads = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="query")
        self._under_way: set[Deadline] = set()

    async def instant(self, query: str, at: float, seconds: float) -> Answer:
        """The answer to an instant query within the seconds given."""
        return await self._ask(lambda deadline: self._source.instant(query, at, deadline), seconds)

    async def range(self, query: str, start: float, end: float, step: float, seconds: float) -> Answer:
        """The answer to a range query within the seconds given."""
        return await self._ask(lambda deadline: self._source.range(query, start, end, step, deadline), seconds)

    async def _ask(self, ask: Callable[[Deadline], Answer], seconds: float) -> Answer:
        deadline = Deadline(seconds)
        self._under_way.add(deadline)
        future = asyncio.get_running_loop().run_in_executor(self._threads, ask, deadline)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(future)
        except TimeoutError:
            message = f"{self._source.host} did not answer within {seconds:g} s"
            return Answer(failure=Missing(Reason.UPSTREAM_TIMEOUT, message))
        finally:
            # Wakes the thread if it still waits on a socket, so that no thread outlives its query for long.
            deadline.end()
            future.cancel()
            self._under_way.discard(deadline)

    def close(self) -> None:
        """End what is under way; no thread is waited for."""
        for deadline in list(self._under_way):
            deadline.end()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._source.close()


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
        has_gap = bool(self._ticks) and k - 1 not in self._ticks
        if has_gap or self._wants_refill(k):
            await self._refill(k - 1)
        answers = await self._ask_all(t - self._plan.offset)
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
                return query, await self._asker.instant(self._plan.asked(query, is_raw), instant, rest)

        return dict(await asyncio.gather(*(one(query, is_raw) for query, is_raw in self._plan.queries)))

    def _missing_ticks(self, last: int) -> list[int]:
        first = last - self._plan.memory_ticks + 2
        return [k for k in range(first, last + 1) if k not in self._ticks]

    def _wants_refill(self, k: int) -> bool:
        is_due = self._refill_tries < MAX_REFILL_TRIES and clock.monotonic() >= self._next_refill
        return is_due and bool(self._missing_ticks(k - 1))

    async def _refill(self, last: int) -> None:
        """Fetch the ticks that the memory lacks, up to the last; what cannot be had is tried again later."""
        missing = self._missing_ticks(last)
        if not missing:
            return
        self._refill_tries += 1
        self._next_refill = clock.monotonic() + REFILL_RETRY_SECONDS
        first, every = missing[0], self._plan.every
        end = clock.monotonic() + max(LEAST_REFILL_SECONDS, min(MAX_QUERY_SECONDS, every))
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
            query: slice_answer(histories[query], instant, self._plan.lookback if is_raw else None)
            for query, is_raw in self._plan.queries
        }

    async def _history(self, query: str, is_raw: bool, first: int, last: int, end: float) -> tuple[str, Answer]:
        """All samples from the first tick's look-back to the last tick, or a derived query on the grid."""
        every, offset = self._plan.every, self._plan.offset
        async with self._at_once:
            seconds = max(0.001, end - clock.monotonic())
            if is_raw:
                asked = promql.with_range(query, (last - first) * every + self._plan.lookback)
                return query, await self._asker.instant(asked, last * every - offset, seconds)
            start, stop = first * every - offset, last * every - offset
            return query, await self._asker.range(query, start, stop, every, seconds)


async def _worked(work: Callable[[], T], series: int) -> T:
    """Do a piece of work here, or in a thread if it is long, so that GETs are answered meanwhile."""
    if series <= INLINE_SERIES:
        return work()
    return await asyncio.to_thread(work)


def slice_answer(history: Answer, instant: float, lookback: float | None) -> Answer:
    """What an instant query would have answered at the instant, out of a longer answer; None: the very instant only."""
    cut = []
    for series in history.series:
        if lookback is None:
            kept = tuple(sample for sample in series.samples if abs(sample.time - instant) < 0.0005)
        else:
            kept = tuple(sample for sample in series.samples if instant - lookback <= sample.time <= instant)
        if kept:
            cut.append(Series(series.labels, kept))
    return Answer(tuple(cut))
