"""Adapters that know nothing of each other serve the same bytes for the same instant of the grid.

No cluster: the requests come as the aggregator sends them. The load changes several times a second, a pod comes and
goes, and the exporters take 0.4 s to answer, so that Prometheus' answers for a recent instant change when asked again:
a sample is stamped when its scrape starts and stored when it ends. One of two adapters asks 0.4 s later than the other,
so with `offset: 0s` they disagree at most ticks, and with the policy's two seconds they never may.
"""

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import requests
from adapter_process import AdapterProcess, FrontProxy
from child_process import eventually
from inference_exporter import InferenceExporter
from late_prometheus import LatePrometheus
from prometheus_process import PrometheusProcess

pytestmark = pytest.mark.slow

METRIC = ("inference", "llama-replicas")
TICK = "X-Scaleproof-Tick"
PAIRS = 40


class Poller:
    """Asks one adapter for the metric again and again, and keeps its body for each tick, and every status."""

    def __init__(self, adapter: AdapterProcess) -> None:
        self._adapter = adapter
        self._end = threading.Event()
        self.bodies: dict[str, set[bytes]] = {}
        self.statuses: list[int] = []
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(0.1):
            try:
                response = self._adapter.metric(*METRIC)
            except requests.ConnectionError:
                continue  # it is down, or starts
            self.statuses.append(response.status_code)
            if response.status_code == 200:
                self.bodies.setdefault(response.headers[TICK], set()).add(response.content)

    def close(self) -> None:
        self._end.set()
        self._thread.join(15)


class Bustle:
    """Load that changes five times a second, requests that end, a pod that comes and goes; from a fixed seed."""

    def __init__(self, exporter: InferenceExporter) -> None:
        self._exporter = exporter
        self._random = random.Random(20260101)
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        step = 0
        while not self._end.wait(0.2):
            step += 1
            self._exporter.set_load(self._random.randint(5, 60))
            self._exporter.finish_requests("llama-1", self._random.randint(0, 3), first_token_seconds=0.3)
            self._exporter.set_pod("llama-2", engine_active=self._random.random())
            self._exporter.set_pod("llama-3", is_ready=step % 40 < 25)

    def close(self) -> None:
        self._end.set()
        self._thread.join(15)


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[PrometheusProcess]:
    """A Prometheus on exporters that bustle and are slow."""
    with ExitStack() as stack:
        exporter = InferenceExporter("inference", "llama", "llama-70b", is_aligned=False)
        stack.callback(exporter.close)
        exporter.scrape_latency_seconds = 0.4
        exporter.set_pods("llama-1", "llama-2", "llama-3")
        stack.callback(Bustle(exporter).close)
        folder = tmp_path / "prometheus"
        folder.mkdir()
        started = PrometheusProcess(folder, exporter.jobs())
        stack.callback(started.close)
        eventually(lambda: started.value("sum(vllm:request_success_total) > 20"), "the exporters are scraped")
        yield started


StartAdapter = Callable[..., tuple[AdapterProcess, Poller]]
"""Name, and by how many seconds it asks late → the adapter and its poller."""


@pytest.fixture
def start_adapter(
    tmp_path: Path, prometheus: PrometheusProcess, policies_of: Callable[[str, str], Path]
) -> Iterator[StartAdapter]:
    """Start an adapter by name, and something that polls it."""
    front_proxy = FrontProxy(tmp_path)
    policies = policies_of("busy.yaml", "inference")
    with ExitStack() as stack:

        def start(name: str, asks_late_seconds: float = 0) -> tuple[AdapterProcess, Poller]:
            late = LatePrometheus(prometheus.url, asks_late_seconds)
            stack.callback(late.close)
            adapter = AdapterProcess(
                tmp_path,
                policies,
                late.url,
                front_proxy.serving,
                front_proxy.serving_authority.certificate_file,
                client=front_proxy.certificate,
                flags=front_proxy.flags,
                name=name,
            )
            stack.callback(adapter.close)
            poller = Poller(adapter)
            stack.callback(poller.close)
            adapter.wait_ready()
            return adapter, poller

        yield start


def values(bodies: dict[str, set[bytes]]) -> set[bytes]:
    """The different bodies of some ticks."""
    return set().union(*bodies.values())


def test_two_adapters_serve_equal_bodies_at_every_equal_tick(
    start_adapter: StartAdapter,
) -> None:
    """The second starts later, so its first ticks come from refetched windows. The bodies must differ between ticks,
    or their equality would say nothing."""
    _, first = start_adapter("first")
    eventually(lambda: len(first.bodies) >= 5, "the first adapter serves", 60)
    _, second = start_adapter("second", asks_late_seconds=0.4)
    eventually(lambda: len(first.bodies.keys() & second.bodies.keys()) >= PAIRS, f"{PAIRS} ticks served by both", 150)

    common = sorted(first.bodies.keys() & second.bodies.keys())
    assert {tick: first.bodies[tick] for tick in common} == {tick: second.bodies[tick] for tick in common}
    assert all(len(first.bodies[tick]) == 1 for tick in common)
    assert len(values(first.bodies)) >= PAIRS / 2


def test_a_killed_adapter_answers_503_until_it_serves_the_bytes_of_one_that_was_never_killed(
    start_adapter: StartAdapter,
) -> None:
    victim, victims_answers = start_adapter("victim")
    _, survivors_answers = start_adapter("survivor", asks_late_seconds=0.4)
    for poller in (victims_answers, survivors_answers):
        eventually(lambda poller=poller: len(poller.bodies) >= 5, "both serve", 60)

    victim.kill()
    answered_before = len(victims_answers.statuses)
    ticks_before = set(victims_answers.bodies)
    victim.launch()
    victim.wait_ready()
    eventually(lambda: 200 in victims_answers.statuses[answered_before:], "the killed adapter serves again", 90)
    eventually(
        lambda: victims_answers.bodies.keys() - ticks_before <= survivors_answers.bodies.keys(), "same ticks", 30
    )

    after = victims_answers.statuses[answered_before:]
    assert set(after[: after.index(200)]) <= {503}
    first_tick = min(victims_answers.bodies.keys() - ticks_before, key=float)
    assert victims_answers.bodies[first_tick] == survivors_answers.bodies[first_tick]
