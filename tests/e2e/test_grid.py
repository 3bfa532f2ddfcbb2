"""Adapters that know nothing of each other serve the same bytes for the same instant of the grid.

No cluster: the requests come as the aggregator sends them. The load changes several times a second, a pod comes and
goes, and the exporters take 0.4 s to answer, so that Prometheus' answers for a recent instant change when asked again:
a sample is stamped when its scrape starts and stored when it ends. One of two adapters asks 0.25 s later than the
other, so with `offset: 0s` they disagree at many ticks, and with the policy's two seconds they never may.

The promise is the same bytes *from the same answers*. A machine so busy that Prometheus misses the adapter's deadline
of one second gives other answers; such ticks, of which the adapter's account says so, are not compared.
"""

import json
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

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]  # a minute each on a machine that has nothing else to do

METRIC = ("inference", "llama-replicas")
TICK = "X-Scaleproof-Tick"
PAIRS = 40
LATE_SECONDS = 0.25


class Poller:
    """Asks one adapter for the metric again and again, and keeps its body for each tick, and every status."""

    def __init__(self, adapter: AdapterProcess) -> None:
        self._adapter = adapter
        self._end = threading.Event()
        self.bodies: dict[float, set[bytes]] = {}
        self.statuses: list[int] = []
        self.troubles: dict[float, str] = {}
        """For each tick that was seen explained, the inputs that Prometheus did not answer; mostly none."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(0.25):
            try:
                self._look()
            except requests.ConnectionError:
                continue  # it is down, or starts

    def _look(self) -> None:
        response = self._adapter.metric(*METRIC)
        self.statuses.append(response.status_code)
        if response.status_code == 200:
            self.bodies.setdefault(float(response.headers[TICK]), set()).add(response.content)
        for signal in self._adapter.explain():
            account = json.dumps(signal["why"])
            self.troubles[signal["t"]] = account if "upstream-" in account else ""

    @property
    def answered(self) -> set[float]:
        """The ticks that were served, and for which Prometheus had answered everything then and five ticks before.

        Five, because after a gap nothing may go down for five good ticks, on the adapter that had the gap.
        """
        return {
            tick
            for tick in self.bodies
            if tick in self.troubles and not any(self.troubles.get(tick - back) for back in range(6))
        }

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
            url = prometheus.url
            if asks_late_seconds:
                late = LatePrometheus(url, asks_late_seconds)
                stack.callback(late.close)
                url = late.url
            adapter = AdapterProcess(
                tmp_path,
                policies,
                url,
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


def test_two_adapters_serve_equal_bodies_at_every_equal_tick(start_adapter: StartAdapter) -> None:
    """The second starts later, so its first ticks come from refetched windows. The bodies must differ between ticks,
    or their equality would say nothing."""
    _, first = start_adapter("first")
    eventually(lambda: len(first.bodies) >= 5, "the first adapter serves", 60)
    _, second = start_adapter("second", asks_late_seconds=LATE_SECONDS)
    eventually(lambda: len(first.answered & second.answered) >= PAIRS, f"{PAIRS} ticks served by both", 400)

    common = sorted(first.answered & second.answered)
    assert {tick: first.bodies[tick] for tick in common} == {tick: second.bodies[tick] for tick in common}
    assert all(len(first.bodies[tick]) == 1 for tick in common)
    assert len({body for tick in common for body in first.bodies[tick]}) >= PAIRS / 2


def test_a_killed_adapter_answers_503_until_it_serves_the_bytes_of_one_that_was_never_killed(
    start_adapter: StartAdapter,
) -> None:
    victim, victims = start_adapter("victim")
    _, survivors = start_adapter("survivor", asks_late_seconds=LATE_SECONDS)
    for poller in (victims, survivors):
        eventually(lambda poller=poller: len(poller.bodies) >= 5, "both serve", 60)

    victim.kill()
    answered_before, ticks_before = len(victims.statuses), set(victims.bodies)
    victim.launch()
    victim.wait_ready()
    eventually(lambda: (victims.answered - ticks_before) & survivors.answered, "both serve a tick again", 90)

    after = victims.statuses[answered_before:]
    assert set(after[: after.index(200)]) <= {503}
    first_tick = min((victims.answered - ticks_before) & survivors.answered)
    assert victims.bodies[first_tick] == survivors.bodies[first_tick]
