"""A `scaleproof serve` on loopback in front of a fake Prometheus, with a policy folder to write into."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from adapter_process import AdapterProcess, FrontProxy
from fake_prometheus import FakePrometheus, answering, fake_prometheus


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    with fake_prometheus(answering(70)) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "policies"
    path.mkdir()
    return path


@pytest.fixture(scope="session")
def front_proxy(tmp_path_factory: pytest.TempPathFactory) -> FrontProxy:
    return FrontProxy(tmp_path_factory.mktemp("front-proxy"))


@pytest.fixture
def serve(
    tmp_path: Path, folder: Path, prometheus: FakePrometheus, front_proxy: FrontProxy
) -> Iterator[Callable[[], AdapterProcess]]:
    """Start the adapter on the folder and wait until it is ready."""
    started: list[AdapterProcess] = []

    def start() -> AdapterProcess:
        adapter = AdapterProcess(
            tmp_path,
            folder,
            prometheus.url,
            front_proxy.serving,
            front_proxy.serving_authority.certificate_file,
            client=front_proxy.certificate,
            flags=front_proxy.flags,
            name=f"adapter-{len(started)}",
        )
        started.append(adapter)
        adapter.wait_ready()
        return adapter

    yield start
    for adapter in started:
        adapter.close()
