"""Pollers: one task a policy, which asks, evaluates and publishes on the policy's grid.

A policy is evaluated at t = k × every, epoch-aligned and never before t is due; its queries are asked for t - offset.
Its memory is exactly memory ÷ every ticks. Ticks that are missing (at the start, or after a stall) are fetched again
and never served. One policy's slow source never delays another's.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import replace

import structlog

from adapter import clock
from adapter.asking import Asker
from adapter.board import Board
from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer, Series
from adapter.core.ticks import Tick, read_tick
from adapter.telemetry import Telemetry

MAX_QUERY_SECONDS = 10.0
REFILL_RETRY_SECONDS = 15.0
MAX_REFILL_TRIES = 20
POLICY_QUERIES_AT_ONCE = 8

_log = structlog.get_logger("scaleproof.poller")


class PolicyPoller:
    """Runs one policy for as long as its task lives."""

    def __init__(self, loaded: LoadedPolicy, asker: Asker, board: Board, telemetry: Telemetry) -> None:
        self._loaded, self._plan = loaded, loaded.plan
        self._asker, self._board, self._telemetry = asker, board, telemetry
        self._ticks: dict[int, Tick] = {}
        self._at_once = asyncio.Semaphore(POLICY_QUERIES_AT_ONCE)
        self._refill_tries = 0
        self._next_refill = 0.0

    async def run(self) -> None:
        """Evaluate on the grid until cancelled."""
        every = self._plan.every
        # What was is fetched before the first tick comes due, so that it is served with its full memory.
        k = int(clock.now() // every)
        await self._guarded(self._refill(k), k)
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
        self._ticks[k] = read_tick(self._plan, t, answers)
        # Ticks after this one are there where the clock was set back; they are not yet.
        for other in [one for one in self._ticks if not k - self._plan.memory_ticks < one <= k]:
            del self._ticks[other]
        window = [self._ticks[one] for one in sorted(self._ticks)]
        groups = evaluate(self._plan, self._loaded.rules, window)
        self._board.publish(self._loaded, t, groups)
        self._telemetry.evaluated(self._loaded, t, groups, clock.monotonic() - started)

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
        if k - 1 not in self._ticks or is_due:
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
        for k in missing:
            instant = k * every - self._plan.offset
            answers = {
                query: within(histories[query], instant, self._plan.lookback if is_raw else None)
                for query, is_raw in self._plan.queries
            }
            self._ticks[k] = read_tick(self._plan, k * every, answers)
        self._refill_tries = 0

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
