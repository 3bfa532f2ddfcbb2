"""Asking a source for all policies: each question once, not too many at a time, and not at all while it is down.

Policies that ask the same at the same instant share one answer. The source blocks, so it is asked in threads of its
own, each question bounded in time even if its thread is not back yet: a source that hangs holds nobody but itself.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol

from adapter import clock
from adapter.circuit import Circuit, Gate
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer
from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource
from adapter.source_telemetry import SourceTelemetry

KEPT_SECONDS = 5.0
MAX_KEPT_ANSWERS = 2_000
MAX_KEPT_SERIES = 200_000
SAME_END_SECONDS = 0.25


class Asker(Protocol):
    """What a poller asks: a source, for one policy."""

    async def instant(self, query: str, at: float, seconds: float) -> Answer:
        """The answer to an instant query within the seconds given."""
        ...

    async def range(self, query: str, start: float, end: float, step: float, seconds: float) -> Answer:
        """The answer to a range query within the seconds given."""
        ...


Ask = Callable[[Deadline, bool], Answer]
"""Asks within a deadline; once only where it is a probe."""


@dataclass(frozen=True, slots=True)
class _Flight:
    """A question under way or answered, and when its time is over."""

    task: "asyncio.Task[Answer]"
    end: float
    seconds: float

    def serves(self, end: float, seconds: float) -> bool:
        """Whether whoever has that much time gets from it what an own question would give."""
        if not self.task.done():
            return self.end >= end - SAME_END_SECONDS
        is_good = not self.task.cancelled() and self.task.exception() is None and self.task.result().failure is None
        return is_good or self.seconds >= 0.9 * seconds


def _series(flight: _Flight) -> int:
    """How many series the answer holds; one that ended in a fault of ours holds none."""
    task = flight.task
    return 0 if task.cancelled() or task.exception() is not None else len(task.result().series)


def _topic(tenant: str, question: str) -> str:
    """What the circuit knows a question by: a selector whatever time it is asked over, for a tick or for a memory."""
    selector, bracket, _ = question.rpartition("[")
    return f"{tenant}\0{selector if bracket and question.endswith(']') else question}"


class SourceAsker:
    """One source, shared by all policies that ask it."""

    def __init__(
        self, name: str, source: PrometheusSource, max_concurrent: int, telemetry: SourceTelemetry, per_tenant: bool
    ) -> None:
        self._name, self._source, self._telemetry, self._per_tenant = name, source, telemetry, per_tenant
        self._threads = ThreadPoolExecutor(max_concurrent, thread_name_prefix=f"query-{name}")
        self._slots = asyncio.Semaphore(max_concurrent)
        self._circuit = Circuit(clock.monotonic)
        self._circuit_moved = asyncio.Event()
        self._under_way: set[Deadline] = set()
        self._flights: OrderedDict[tuple[object, ...], _Flight] = OrderedDict()
        self._kept_series = 0

    def for_namespace(self, namespace: str) -> Asker:
        """The source as policies of a namespace ask it."""
        return _PolicyAsker(self, self._source, namespace)

    async def ask(self, namespace: str, question: str, instants: tuple[float, ...], ask: Ask, seconds: float) -> Answer:
        """The answer to a question, shared with whoever asks the same for the same instants."""
        tenant = namespace if self._per_tenant else ""
        key = (tenant, question, instants)
        end = clock.monotonic() + seconds
        flight = self._flights.get(key)
        if flight is None or not flight.serves(end, seconds):
            flying = asyncio.create_task(self._fly(_topic(tenant, question), ask, end, seconds))
            flight = _Flight(flying, end, seconds)
            self._keep(key, flight)
        else:
            self._telemetry.shared(self._name)
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(flight.task)
        except TimeoutError:
            return self._timed_out(seconds)

    async def _fly(self, question: str, ask: Ask, end: float, seconds: float) -> Answer:
        gate = Gate.WAIT
        try:
            async with asyncio.timeout(end - clock.monotonic()):
                gate = await self._gate(question)
                if gate is Gate.REFUSED:
                    return self._refused()
                async with self._slots:
                    if gate is Gate.ASK and self._circuit.is_open:  # it opened while this one waited for its turn
                        return self._refused()
                    return await self._asked(question, ask, end, gate is Gate.PROBE)
        except TimeoutError:
            message = f"{self._source.host} was not asked within {seconds:.3g} s, so many questions waited for it"
            return Answer(failure=Missing(Reason.UPSTREAM_TIMEOUT, message))
        finally:
            if gate is Gate.PROBE:
                self._circuit.let_go(question)
            self._wake()

    def _refused(self) -> Answer:
        self._telemetry.refused(self._name)
        return Answer(failure=self._circuit.refusal())

    def _wake(self) -> None:
        """Have those who wait for the circuit look at it again."""
        self._circuit_moved.set()
        self._circuit_moved = asyncio.Event()

    async def _gate(self, question: str) -> Gate:
        while (gate := self._circuit.gate(question)) is Gate.WAIT:
            await self._circuit_moved.wait()
        return gate

    async def _asked(self, question: str, ask: Ask, end: float, is_probe: bool) -> Answer:
        """Ask in a thread and tell the circuit what came of it, whatever it is."""
        started = clock.monotonic()
        seconds = max(0.001, end - started)
        deadline = Deadline(seconds)
        self._under_way.add(deadline)
        answer = self._timed_out(seconds)
        future = asyncio.get_running_loop().run_in_executor(self._threads, ask, deadline, is_probe)
        try:
            # A little less than the time that is left, so that it is this one that runs out and tells of it.
            async with asyncio.timeout(0.995 * seconds):
                answer = await asyncio.shield(future)
        except TimeoutError:
            pass
        finally:
            # Wakes the thread if it still waits on a socket, so that no thread outlives its query for long.
            deadline.end()
            future.cancel()
            self._under_way.discard(deadline)
            self._record(question, answer, clock.monotonic() - started)
        return answer

    def _record(self, question: str, answer: Answer, seconds: float) -> None:
        was_open = self._circuit.is_open
        self._circuit.record(question, answer.failure)
        self._telemetry.asked(self._name, answer.failure, seconds)
        if self._circuit.is_open != was_open:
            self._telemetry.circuit_moved(self._name, self._source.host, self._circuit.is_open, answer.failure)

    def _keep(self, key: tuple[object, ...], flight: _Flight) -> None:
        """Keep the question for those who ask the same a little later, and forget what nobody will ask again."""
        self._forget(key)
        self._flights[key] = flight
        flight.task.add_done_callback(lambda _: self._weigh(key, flight))
        now = clock.monotonic()
        while self._flights:
            oldest, held = next(iter(self._flights.items()))
            is_over = held.task.done() and held.end + KEPT_SECONDS < now
            if not is_over and len(self._flights) <= MAX_KEPT_ANSWERS and self._kept_series <= MAX_KEPT_SERIES:
                break
            self._forget(oldest)

    def _weigh(self, key: tuple[object, ...], flight: _Flight) -> None:
        if self._flights.get(key) is flight:
            self._kept_series += _series(flight)

    def _forget(self, key: tuple[object, ...]) -> None:
        gone = self._flights.pop(key, None)
        if gone is not None and gone.task.done():
            self._kept_series -= _series(gone)

    def _timed_out(self, seconds: float) -> Answer:
        message = f"{self._source.host} did not answer within {seconds:.3g} s"
        return Answer(failure=Missing(Reason.UPSTREAM_TIMEOUT, message))

    def close(self) -> None:
        """End what is under way; no thread is waited for."""
        for flight in self._flights.values():
            flight.task.cancel()
        for deadline in list(self._under_way):
            deadline.end()
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._source.close()


class _PolicyAsker:
    """A source as the policies of one namespace ask it."""

    def __init__(self, asker: SourceAsker, source: PrometheusSource, namespace: str) -> None:
        self._asker, self._source, self._namespace = asker, source, namespace

    async def instant(self, query: str, at: float, seconds: float) -> Answer:
        def ask(deadline: Deadline, only_once: bool) -> Answer:
            return self._source.instant(query, at, deadline, namespace=self._namespace, only_once=only_once)

        return await self._asker.ask(self._namespace, query, (at,), ask, seconds)

    async def range(self, query: str, start: float, end: float, step: float, seconds: float) -> Answer:
        def ask(deadline: Deadline, only_once: bool) -> Answer:
            return self._source.range(query, start, end, step, deadline, namespace=self._namespace, only_once=only_once)

        return await self._asker.ask(self._namespace, query, (start, end, step), ask, seconds)
