"""One request from its first byte to its answer: read, identified, authorized, routed, written.

The order is that of an API server and the reason why it is safe: nothing is looked up for somebody who may not ask, so
an answer tells nothing about what exists. Waits for nothing but reviews, which have time-outs of their own.
"""

import asyncio
import gzip
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache

from aiohttp import web
from aiohttp.web_request import BaseRequest

from adapter.answers import (
    IMPERSONATION,
    TOO_MANY_REQUESTS,
    UNAUTHORIZED,
    Answer,
    internal_error,
    of_status,
)
from adapter.authorization import Authorizer, forbidden
from adapter.core.api_requests import ApiRequest, TargetError, read_request
from adapter.core.external_metrics import bad_request, render_pretty
from adapter.core.media_types import JSON, wants_pretty
from adapter.identity import Authenticator, UnauthenticatedError
from adapter.reviews import ReviewUnavailableError
from adapter.routes import Health, Routes

GZIP_BYTES = 128 * 1024
"""Smaller answers are cheaper to send than to compress; the size is the API server's."""

MAX_KEPT_TARGET = 2048
_kept_request = lru_cache(maxsize=1024)(read_request)
"""The same few targets are asked for each sync; 1,024 of 2 KB are 2 MB at most. Errors are not kept."""

_PRETTY_AGENTS = ("curl/", "Wget/", "Mozilla/5.0")


class ApiHandler:
    """Answers every request of the HTTPS port."""

    def __init__(
        self,
        routes: Routes,
        health: Health,
        authenticator: Authenticator,
        authorizer: Authorizer,
        on_request: Callable[[int], None],
        max_in_flight: int,
    ) -> None:
        self._routes = routes
        self._health = health
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._on_request = on_request
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        self.is_idle = asyncio.Event()
        self.is_idle.set()

    async def __call__(self, request: BaseRequest) -> web.StreamResponse:
        self._in_flight += 1
        self.is_idle.clear()
        status = 500  # what is answered if something fails here
        try:
            answer = await self._answer(request)
            status = answer.status
        finally:
            self._on_request(status)
            self._in_flight -= 1
            if not self._in_flight:
                self.is_idle.set()
        response = _response(request.headers, answer)
        if self._health.is_draining:
            response.force_close()
        return response

    async def _answer(self, request: BaseRequest) -> Answer:
        try:
            read = _kept_request if len(request.raw_path) <= MAX_KEPT_TARGET else read_request
            asked = read(request.method, request.raw_path)
        except TargetError as error:
            return of_status(bad_request(str(error)))
        if health := self._health.answer(asked):
            return health
        if self._in_flight > self._max_in_flight:
            return TOO_MANY_REQUESTS
        if refusal := await self._refusal(request, asked):
            return refusal
        accept = ",".join(request.headers.getall("Accept", ()))
        answer = self._routes.answer(asked, request.headers, accept)
        if _is_pretty(asked.parameters, request.headers, accept) and answer.content_type.startswith(JSON):
            return replace(answer, body=render_pretty(answer.body)) if answer.body else answer
        return answer

    async def _refusal(self, request: BaseRequest, asked: ApiRequest) -> Answer | None:
        """Why the request goes no further, or None."""
        try:
            certificate = _peer_certificate(request)
            identity = await self._authenticator.identify(certificate, request.headers, request.raw_headers)
            is_allowed = await self._authorizer.is_allowed(identity, asked.attributes)
        except UnauthenticatedError:
            return UNAUTHORIZED
        except ReviewUnavailableError as error:
            return internal_error(str(error))
        if not is_allowed:
            return of_status(forbidden(identity, asked.attributes))
        if any(header[:12].lower() == b"impersonate-" for header, _ in request.raw_headers):
            return IMPERSONATION
        return None


def _peer_certificate(request: BaseRequest) -> bytes | None:
    transport = request.transport
    connection = None if transport is None else transport.get_extra_info("ssl_object")
    return None if connection is None else connection.getpeercert(binary_form=True)


def _is_pretty(parameters: Mapping[str, str], headers: Mapping[str, str], accept: str) -> bool:
    if "pretty" in parameters:
        return parameters["pretty"].lower() in ("1", "t", "true")
    return headers.get("User-Agent", "").startswith(_PRETTY_AGENTS) or wants_pretty(accept)


def _response(request_headers: Mapping[str, str], answer: Answer) -> web.Response:
    headers = {
        "Content-Type": answer.content_type,
        "Cache-Control": "no-cache, private",
        "X-Content-Type-Options": "nosniff",
        "Server": "scaleproof",
        **answer.headers,
    }
    body = answer.body
    if len(body) >= GZIP_BYTES and _accepts_gzip(request_headers.get("Accept-Encoding", "")):
        body = gzip.compress(body, compresslevel=1, mtime=0)
        headers["Content-Encoding"] = "gzip"
        headers["Vary"] = "Accept-Encoding"
    return web.Response(status=answer.status, body=body, headers=headers)


def _accepts_gzip(accept_encoding: str) -> bool:
    for clause in accept_encoding.split(","):
        coding, _, weight = clause.replace(" ", "").partition(";")
        if coding.lower() == "gzip":
            return weight not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
