"""The hour to be explained, and the metrics address that explains it."""

from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from adapter_process import AdapterProcess, FrontProxy
from explained_hour import explained_hour
from fake_prometheus import FakePrometheus, answering, fake_prometheus

from adapter.board import Board
from adapter.own_endpoint import OwnEndpoint


@pytest.fixture(scope="session")
def hour() -> Board:
    """The board at the end of the hour; tests read it and publish nothing on it."""
    return explained_hour()


@pytest.fixture
async def url(hour: Board) -> AsyncIterator[str]:
    """A metrics address on loopback."""
    endpoint = OwnEndpoint(lambda: b"", hour)
    port = await endpoint.start("127.0.0.1", 0)
    yield f"http://127.0.0.1:{port}"
    await endpoint.close()


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    with fake_prometheus(answering(70)) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "policies"
    path.mkdir()
    return path


@pytest.fixture
def serve(tmp_path: Path, folder: Path, prometheus: FakePrometheus) -> Iterator[Callable[[], AdapterProcess]]:
    """Start a real adapter on the folder of policies."""
    proxy = FrontProxy(tmp_path)
    started: list[AdapterProcess] = []

    def start() -> AdapterProcess:
        authority = proxy.serving_authority.certificate_file
        adapter = AdapterProcess(
            tmp_path, folder, prometheus.url, proxy.serving, authority, client=proxy.certificate, flags=proxy.flags
        )
        started.append(adapter)
        adapter.wait_ready()
        return adapter

    yield start
    for adapter in started:
        adapter.close()
