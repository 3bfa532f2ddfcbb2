"""The hour to be explained, and the metrics address that explains it."""

from collections.abc import AsyncIterator, Callable

import pytest
from explained_hour import explained_hour

from adapter.board import Board
from adapter.own_endpoint import OwnEndpoint

Serve = Callable[..., "OwnEndpoint"]


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
