"""Fixtures that tests of several subjects share: the one real cluster of a session, and what is started beside it.

Each slow test names what it needs and nothing is started for the fast ones. Logs stay in pytest's temporary folders.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cluster import Cluster, start_cluster
from inference_exporter import InferenceExporter
from prometheus_process import PrometheusProcess


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak-seconds", default="60", help="How long the soak of tests/serving/test_soak.py goes on.")
    parser.addoption("--seconds", default="40", help="How long the abuse of tests/serving/test_abuse.py goes on.")


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A real control plane with KWOK, up in 3 s, or the cluster that KUBECONFIG_E2E names."""
    running = start_cluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield running
    finally:
        running.stop()


@pytest.fixture
def exporter() -> Iterator[InferenceExporter]:
    """The exporters of Deployment `llama` in namespace `inference`, with no pods yet."""
    with ExitStack() as stack:
        made = InferenceExporter("inference", "llama", "llama-70b")
        stack.callback(made.close)
        yield made


@pytest.fixture
def start_prometheus(tmp_path: Path) -> Iterator[Callable[[InferenceExporter], PrometheusProcess]]:
    """Start a real Prometheus that scrapes an exporter each second."""
    with ExitStack() as stack:

        def start(exporter: InferenceExporter) -> PrometheusProcess:
            folder = tmp_path / "prometheus"
            folder.mkdir()
            started = PrometheusProcess(folder, exporter.jobs())
            stack.callback(started.close)
            return started

        yield start
