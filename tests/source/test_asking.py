"""Asking for all policies: what is asked once, how many go at a time, and what a source that is down costs."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
from fake_prometheus import Exchange, FakePrometheus, answering, failing, fake_prometheus, hanging
from prometheus_client import CollectorRegistry, generate_latest

from adapter.asking import SourceAsker
from adapter.core.samples import Answer
from adapter.prometheus import PrometheusSource
from adapter.source_settings import SourceSettings
from adapter.source_telemetry import SourceTelemetry

AT = 1_800_000_000.0


@pytest.fixture
def server() -> Iterator[FakePrometheus]:
    with fake_prometheus(answering(7, pod="a")) as running:
        yield running


class Asked:
    """A source asker in front of a server, with its metrics."""

    def __init__(self, server: FakePrometheus, max_concurrent: int = 16, per_tenant: bool = False) -> None:
        headers = {"X-Scope-OrgID": "{namespace}"} if per_tenant else {}
        settings = SourceSettings(url=server.url, max_concurrent=max_concurrent, headers=headers)
        self.registry = CollectorRegistry()
        source = PrometheusSource(server.url, settings=settings)
        telemetry = SourceTelemetry(self.registry)
        self._asker = SourceAsker("default", source, max_concurrent, telemetry, per_tenant)
        self.close = self._asker.close

    async def ask(self, query: str, at: float = AT, seconds: float = 5.0, namespace: str = "prod") -> Answer:
        return await self._asker.for_namespace(namespace).instant(query, at, seconds)

    async def ask_all(self, *queries: str, at: float = AT, seconds: float = 5.0) -> list[Answer]:
        return list(await asyncio.gather(*(self.ask(query, at, seconds) for query in queries)))

    def metric(self, line: str) -> float:
        text = generate_latest(self.registry).decode()
        return next((float(one.rpartition(" ")[2]) for one in text.splitlines() if one.startswith(line)), 0.0)


def slow(seconds: float) -> Callable[[Exchange], None]:
    def behave(exchange: Exchange) -> None:
        exchange.server.closing.wait(seconds)
        answering(7, pod="a")(exchange)

    return behave


async def test_the_same_question_of_many_policies_is_asked_once(server: FakePrometheus) -> None:
    server.default = slow(0.2)
    with closing(Asked(server)) as asked:
        answers = await asked.ask_all(*["up"] * 20)
        later = await asked.ask("up")
        assert {answer.series[0].samples[0].value for answer in [*answers, later]} == {7.0}
        assert server.seen == {"up": 1}
        assert asked.metric("scaleproof_source_shared_answers_total") == 20
        assert asked.metric('scaleproof_source_queries_total{outcome="success",source="default"}') == 1


async def test_another_instant_query_or_tenant_is_another_question(server: FakePrometheus) -> None:
    with closing(Asked(server, per_tenant=True)) as asked:
        await asked.ask("up")
        await asked.ask("up", at=AT + 1)
        await asked.ask("down")
        await asked.ask("up", namespace="staging")
    assert server.seen == {"up": 3, "down": 1}
    assert [headers["x-scope-orgid"] for _, headers in server.asked] == ["prod", "prod", "prod", "staging"]


async def test_a_failure_is_shared_as_a_value_is(server: FakePrometheus) -> None:
    server.default = failing(400, b"{}")
    with closing(Asked(server)) as asked:
        answers = await asked.ask_all("up", "up", "up")
    assert [answer.failure.reason for answer in answers if answer.failure] == ["upstream-rejected"] * 3
    assert server.seen == {"up": 1}


async def test_who_has_more_time_is_not_held_to_the_time_of_another(server: FakePrometheus) -> None:
    server.default = slow(0.6)
    with closing(Asked(server)) as asked:
        short, long = await asyncio.gather(asked.ask("up", seconds=0.3), asked.ask("up", seconds=10))
    assert short.failure is not None
    assert long.failure is None


async def test_no_more_than_the_bound_are_asked_at_a_time(server: FakePrometheus) -> None:
    lock, now, most = threading.Lock(), 0, 0

    def count(exchange: Exchange) -> None:
        nonlocal now, most
        with lock:
            now, most = now + 1, max(most, now + 1)
        exchange.server.closing.wait(0.05)
        with lock:
            now -= 1
        answering(7)(exchange)

    server.default = count
    with closing(Asked(server, max_concurrent=3)) as asked:
        answers = await asked.ask_all(*(f"up{number}" for number in range(12)))
    assert all(answer.failure is None for answer in answers)
    assert most == 3


async def test_a_source_that_is_down_is_not_asked_and_says_so(server: FakePrometheus) -> None:
    server.default = failing(503)
    with closing(Asked(server)) as asked:
        await asked.ask_all(*"abcde", seconds=1.5)
        before = sum(server.seen.values())
        refused = await asked.ask_all("a", "f", "g", at=AT + 15)
        assert sum(server.seen.values()) == before
        for answer in refused:
            assert answer.failure is not None
            assert answer.failure.reason == "upstream-error"
            assert "circuit open" in answer.failure.message
            assert "answered 503" in answer.failure.message
        assert asked.metric("scaleproof_source_circuit_open") == 1
        assert asked.metric("scaleproof_source_refused_queries_total") == 3


async def test_when_it_is_back_all_that_waited_for_a_probe_are_answered(server: FakePrometheus) -> None:
    server.default = failing(503)
    with closing(Asked(server)) as asked:
        await asked.ask_all(*"abcde", seconds=1.5)
        server.default = slow(0.1)
        await asyncio.sleep(1.1)  # the first pause is a second
        answers = await asked.ask_all(*(f"q{number}" for number in range(12)), at=AT + 15)
        assert [answer.failure for answer in answers] == [None] * 12
        assert asked.metric("scaleproof_source_circuit_open") == 0


async def test_a_probe_is_one_try(server: FakePrometheus) -> None:
    server.default = failing(503)
    with closing(Asked(server)) as asked:
        await asked.ask_all(*"abcde", seconds=1.5)
        await asyncio.sleep(1.1)
        server.seen.clear()
        await asked.ask("probe", at=AT + 15)
        assert server.seen == {"probe": 1}


async def test_questions_that_hang_leave_the_others_alone(server: FakePrometheus) -> None:
    server.behaviours["hangs"] = hanging
    hopeless = [f"hangs{number}" for number in range(8)]
    with closing(Asked(server, max_concurrent=16)) as asked:
        assert (await asked.ask("good", seconds=20)).failure is None
        for tick in (1, 2):
            answers = await asked.ask_all(*hopeless, at=AT + tick, seconds=0.3)
            assert [answer.failure is None for answer in answers] == [False] * 8
            assert (await asked.ask("good", at=AT + tick, seconds=20)).failure is None
        assert asked.metric("scaleproof_source_circuit_open") == 0


async def test_a_source_that_is_silent_costs_no_more_than_its_probes(server: FakePrometheus) -> None:
    server.default = hanging
    with closing(Asked(server)) as asked:
        await asked.ask_all(*"abcdefgh", seconds=0.3)
        before = sum(server.seen.values())
        answers = await asked.ask_all(*"abcdefgh", at=AT + 1, seconds=0.3)
        assert sum(server.seen.values()) == before
        assert {answer.failure.reason for answer in answers if answer.failure} == {"upstream-timeout"}


async def test_closing_ends_what_is_under_way(server: FakePrometheus) -> None:
    server.default = hanging
    asked = Asked(server)
    question = asyncio.create_task(asked.ask("up", seconds=30))
    while not server.seen:  # noqa: ASYNC110 - the server is in a thread of its own
        await asyncio.sleep(0.01)
    asked.close()
    with pytest.raises(asyncio.CancelledError):
        await question


async def test_a_time_out_of_less_time_is_no_answer_for_who_has_more(server: FakePrometheus) -> None:
    server.default = hanging
    with closing(Asked(server)) as asked:
        assert (await asked.ask("up", seconds=0.3)).failure is not None
        server.default = answering(7)
        assert (await asked.ask("up", seconds=20)).failure is None
        assert server.seen == {"up": 2}


async def test_a_probe_whose_time_runs_out_makes_room_for_the_next(server: FakePrometheus) -> None:
    server.default = failing(503)
    with closing(Asked(server)) as asked:
        await asked.ask_all(*"abcde", seconds=1.5)
        server.default = hanging
        await asyncio.sleep(1.1)
        assert (await asked.ask("a", at=AT + 15, seconds=0.2)).failure is not None
        server.default = answering(7)
        await asyncio.sleep(2.1)  # the second pause is two seconds
        assert (await asked.ask("a", at=AT + 30, seconds=20)).failure is None
