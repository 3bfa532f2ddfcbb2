"""The HTTP side of a connection: bounds on what a client may send, and a Status for what cannot be parsed.

aiohttp answers malformed requests with a page of text and takes any number of connections; both are changed here, in
the two places it leaves for it. Knows nothing of routes or identities.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import structlog
from aiohttp import web
from aiohttp.web_protocol import RequestHandler
from aiohttp.web_request import BaseRequest

from adapter.core.external_metrics import Status, bad_request
from adapter.core.media_types import JSON

MAX_LINE_BYTES = 65_536
MAX_HEADERS = 400
"""A user with 250 groups comes with 250 X-Remote-Group headers and some thirty others."""

KEEP_ALIVE_SECONDS = 120.0
"""Above the 90 s after which Go's client drops an idle connection, so that it is never closed under a request. It also
ends a connection on which a request stays incomplete."""

LINGER_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is taken on at once; kube-apiserver keeps 25 connections, and each request is over in a millisecond."""

    connections: int = 1024
    in_flight: int = 400


Handler = Callable[[BaseRequest], Awaitable[web.StreamResponse]]

_log = structlog.get_logger("scaleproof.server")


class Connections(web.Server):
    """Makes the protocol of each connection; a context of the event loop that is running."""

    def __init__(self, handler: Handler, limits: Limits) -> None:
        super().__init__(
            handler,
            access_log=None,
            max_line_size=MAX_LINE_BYTES,
            max_field_size=MAX_LINE_BYTES,
            max_headers=MAX_HEADERS,
            keepalive_timeout=KEEP_ALIVE_SECONDS,
            lingering_time=LINGER_SECONDS,
        )
        self._limits = limits

    @property
    def is_full(self) -> bool:
        return len(self._connections) > self._limits.connections

    def __call__(self) -> RequestHandler:
        return _Connection(self, loop=self._loop, **self._kwargs)


class _Connection(RequestHandler):
    """One connection."""

    __slots__ = ()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        manager = self._manager
        super().connection_made(transport)
        if isinstance(manager, Connections) and manager.is_full:
            self.force_close()

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answer to what the parser refused, or to a fault of our own; the connection ends with it."""
        if status == 400:
            answer = bad_request("the request is not well-formed HTTP, or larger than this server reads")
        else:
            _log.error("request-failed", status=status, exc_info=exc)
            answer = Status(status, "InternalError", "Internal error occurred: the request could not be answered")
        response = web.Response(status=status, body=answer.render(), headers=_headers())
        response.force_close()
        return response

    def log_exception(self, *args: Any, **kwargs: Any) -> None:
        _log.error("connection-failed", exc_info=kwargs.get("exc_info"))


def _headers() -> dict[str, str]:
    return {"Content-Type": JSON, "Cache-Control": "no-cache, private", "Server": "scaleproof"}
