"""The presets against a real Prometheus that scraped their samples, asked through the adapter's own source."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from child_process import eventually
from preset_samples import (
    FAMILIES,
    SPAN_SECONDS,
    Ask,
    check_reading,
    expected_file,
    expected_of,
    exposition,
    input_plan,
    read,
    read_replicas,
    scrapes,
)
from prometheus_process import Job, PrometheusProcess, Target

from adapter.core.plans import PolicyPlan
from adapter.core.samples import Answer
from adapter.prometheus import Deadline, PrometheusSource

pytestmark = pytest.mark.slow


class Exporters:
    """Serves each family's page under its name; the pages may be changed while Prometheus scrapes."""

    def __init__(self) -> None:
        self.pages: dict[str, str] = {}
        exporters = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = exporters.pages.get(self.path.strip("/"), "").encode()
                self.send_response(HTTPStatus.OK)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        Thread(target=self._server.serve_forever, args=(0.05,), name="preset-exporters", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass(frozen=True)
class Scraped:
    """A Prometheus that holds both scrapes of every sample, and the time of the second."""

    source: PrometheusSource
    now: float

    def ask(self, plan: PolicyPlan) -> Ask:
        def ask(query: str, is_raw: bool) -> Answer:
            return self.source.instant(plan.asked(query, is_raw), self.now, Deadline(10))

        return ask


@pytest.fixture(scope="module")
def scraped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scraped]:
    folder: Path = tmp_path_factory.mktemp("prometheus")
    samples = {family: scrapes(family) for family in FAMILIES}
    now = float(int(time.time()))
    with ExitStack() as stack:
        exporters = Exporters()
        stack.callback(exporters.close)
        jobs = [Job(family, [Target(exporters.address, f"/{family}")], honor_labels=True) for family in FAMILIES]
        prometheus = PrometheusProcess(folder, jobs)
        stack.callback(prometheus.close)
        for index, at in enumerate((now - SPAN_SECONDS, now)):
            exporters.pages = {family: exposition(both[index], at) for family, both in samples.items()}
            for family, both in samples.items():
                series = f'{{job="{family}",__name__!~"up|scrape_.*"}}'
                expression = f"count(last_over_time({series}[1s])) or vector(0)"
                wanted = len(both[index])

                def are_there(expression: str = expression, at: float = at, wanted: int = wanted) -> bool:
                    return prometheus.query(expression, at)[0][1] == wanted

                eventually(are_there, f"{wanted} samples of {family}", 60)
        yield Scraped(stack.enter_context(closing(PrometheusSource(prometheus.url))), now)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_reads_from_prometheus_what_was_worked_out(scraped: Scraped, family: str) -> None:
    for expected in expected_of(family):
        plan, one = input_plan(expected)
        reading = read(plan, one, scraped.ask(plan), scraped.now)
        check_reading(expected, reading, scraped.now, lambda value: pytest.approx(value, rel=1e-9))


def test_replicas_are_read_from_prometheus_as_well(scraped: Scraped) -> None:
    for name, said in expected_file("kube")["replicas"].items():
        found = read_replicas(f"kube/{name}", said["match"], scraped.ask, scraped.now)
        assert found == (said["spec"], said["ready"], said["pods"])
