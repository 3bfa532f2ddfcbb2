"""Prometheus as a source of answers: the one importer of prometheus_api_client and tenacity.

The client library blocks, retries, follows redirects and drops warnings, and its time-out is per read, so a server that
drips bytes holds it for ever. Here every query has one deadline over all its tries and its whole body, a bound on its
size, no redirects, and its warnings are seen. Nothing of these libraries, no exception either, leaves this module.
"""

import json
import socket
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import requests
import urllib3
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from requests.adapters import HTTPAdapter
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential_jitter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.util.retry import Retry

from adapter.clock import monotonic
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer
from adapter.prometheus_answers import MalformedAnswer, parse_result

MAX_BODY_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 64 * 1024


class QueryError(Exception):
    """A query that gave nothing to use; says why."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.missing = Missing(reason, message)


class _Unavailable(QueryError):
    """A failure that another try may mend."""


class Deadline:
    """The end of one query's time, and the sockets to shut when it comes; safe between threads."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = monotonic() + seconds
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.is_over = False

    @property
    def rest(self) -> float:
        """Seconds left, never below 0."""
        return 0.0 if self.is_over else max(0.0, self._end - monotonic())

    def watch(self, sock: socket.socket) -> None:
        """Have the socket shut at the end, which wakes a thread that waits on it."""
        with self._lock:
            self._sockets.append(sock)
            if self.is_over:
                _shut(sock)

    def let_go(self) -> None:
        """Forget the sockets: their connections are the pool's again, and may carry another query by now."""
        with self._lock:
            self._sockets.clear()

    def end(self) -> None:
        """Shut what is still open; called by whoever waits, when the time is over."""
        with self._lock:
            self.is_over = True
            for sock in self._sockets:
                _shut(sock)


def _shut(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


_current = threading.local()


def _deadline() -> Deadline | None:
    found: Deadline | None = getattr(_current, "deadline", None)
    return found


class _Connection(HTTPConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        _watch_socket(self)
        super().request(*args, **kwargs)

    def connect(self) -> None:
        super().connect()
        _watch_socket(self)


class _SecureConnection(HTTPSConnection):
    def request(self, *args: Any, **kwargs: Any) -> None:
        _watch_socket(self)
        super().request(*args, **kwargs)

    def connect(self) -> None:
        super().connect()
        _watch_socket(self)


def _watch_socket(connection: HTTPConnection) -> None:
    deadline = _deadline()
    sock = connection.sock
    if deadline is not None and sock is not None:
        deadline.watch(sock)


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection


class _Adapter(HTTPAdapter):
    """Connections whose sockets a deadline can shut."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **kwargs)
        manager: PoolManager = self.poolmanager
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}


class PrometheusSource:
    """Asks one Prometheus; its methods block and are meant to be called in threads."""

    def __init__(self, url: str, *, pool_size: int = 64, on_query: Callable[[str], None] | None = None) -> None:
        self.url = url.rstrip("/")
        self.host = urlsplit(self.url).netloc.rpartition("@")[2]
        self._on_query = on_query or (lambda _outcome: None)
        session = requests.Session()
        session.max_redirects = 0
        session.trust_env = False
        session.hooks["response"].append(_read_body)
        session.headers["Accept"] = "application/json"
        self._client = PrometheusConnect(url=self.url, session=session, retry=Retry(total=0))
        # The client mounts an adapter of its own for the URL; ours goes there afterwards.
        session.mount(self.url, _Adapter(pool_connections=4, pool_maxsize=pool_size, max_retries=Retry(total=0)))
        self._session = session

    def instant(self, query: str, at: float, deadline: Deadline) -> Answer:
        """The answer to an instant query at a time (epoch seconds); a failure is an answer too."""

        def ask(timeout: float) -> object:
            return self._client.custom_query(query, params={"time": _seconds(at)}, timeout=timeout)

        return self._answer(ask, deadline)

    def range(self, query: str, start: float, end: float, step: float, deadline: Deadline) -> Answer:
        """The answer to a range query on the grid start, start + step, …, end (epoch seconds)."""
        # The client rounds start and end to seconds; its own parameters take precedence and keep them whole.
        params = {"start": _seconds(start), "end": _seconds(end)}
        first, last = datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)

        def ask(timeout: float) -> object:
            return self._client.custom_query_range(
                query,
                first,
                last,
                _seconds(step),
                params=params,
                timeout=timeout,
            )

        return self._answer(ask, deadline)

    def close(self) -> None:
        """Close idle connections."""
        self._session.close()

    def _answer(self, ask: Callable[[float], object], deadline: Deadline) -> Answer:
        try:
            answer = Answer(self._with_tries(ask, deadline))
        except QueryError as error:
            answer = Answer(failure=error.missing)
        self._on_query(answer.failure.reason if answer.failure else "success")
        return answer

    def _with_tries(self, ask: Callable[[float], object], deadline: Deadline) -> Any:
        def no_time_left(state: RetryCallState) -> bool:
            # A try after the pause must still have time, or "no answer in time" would hide the real cause.
            return deadline.rest - state.upcoming_sleep < 0.2

        tries = Retrying(
            retry=retry_if_exception_type(_Unavailable),
            wait=wait_exponential_jitter(multiplier=0.1, max=2.0, jitter=0.1),
            stop=no_time_left,
            sleep=lambda seconds: _pause(min(seconds, deadline.rest)),
            reraise=True,
        )
        return tries(self._once, ask, deadline)

    def _once(self, ask: Callable[[float], object], deadline: Deadline) -> Any:
        _current.deadline = deadline
        try:
            if deadline.rest <= 0:
                raise self._timed_out(deadline)
            return parse_result(ask(deadline.rest))
        except QueryError as error:
            if deadline.is_over:  # its socket was shut: what was read is a torso, whatever it looks like
                raise self._timed_out(deadline) from error
            raise
        except requests.exceptions.TooManyRedirects as error:
            raise QueryError(Reason.UPSTREAM_REJECTED, f"{self.host} redirects, which is not followed") from error
        except requests.exceptions.Timeout as error:
            raise self._timed_out(deadline) from error
        # The body is read past requests, so what urllib3 and the socket say of a cut connection comes as it is.
        except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, OSError) as error:
            if deadline.rest <= 0:
                raise self._timed_out(deadline) from error
            raise _Unavailable(Reason.UPSTREAM_ERROR, f"{self.host} cannot be asked: {_cause(error)}") from error
        except (PrometheusApiClientException, MalformedAnswer, ValueError, KeyError, TypeError) as error:
            message = f"{self.host} answered with something that is no query result"
            raise QueryError(Reason.UPSTREAM_ERROR, message) from error
        finally:
            _current.deadline = None
            deadline.let_go()

    def _timed_out(self, deadline: Deadline) -> QueryError:
        return QueryError(Reason.UPSTREAM_TIMEOUT, f"{self.host} did not answer within {deadline.seconds:g} s")


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def _seconds(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _cause(error: BaseException) -> str:
    """The innermost words of a connection error, without addresses of objects or credentials."""
    while error.__context__ is not None or (error.args and isinstance(error.args[0], BaseException)):
        inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error.__context__
        if inner is None or inner is error:
            break
        error = inner
    return getattr(error, "strerror", None) or type(error).__name__


def _read_body(response: requests.Response, *_args: Any, **_kwargs: Any) -> requests.Response:
    """Read the whole body under the deadline and the size bound, and judge status, type and warnings."""
    host = urlsplit(response.url).netloc.rpartition("@")[2]
    try:
        if response.is_redirect or response.is_permanent_redirect:
            raise QueryError(Reason.UPSTREAM_REJECTED, f"{host} redirects, which is not followed")
        response._content = _bounded_body(response, host)
        response._content_consumed = True  # type: ignore[attr-defined]
        _judge(response, host)
    except BaseException:
        response.close()
        raise
    return response


def _bounded_body(response: requests.Response, host: str) -> bytes:
    deadline = _deadline()
    body = bytearray()
    while chunk := _next_chunk(response):
        body += chunk
        if len(body) > MAX_BODY_BYTES:
            raise QueryError(Reason.UPSTREAM_ERROR, f"{host} answered with more than {MAX_BODY_BYTES} bytes")
        if deadline is not None and deadline.rest <= 0:
            raise QueryError(Reason.UPSTREAM_TIMEOUT, f"{host} did not finish within {deadline.seconds:g} s")
    return bytes(body)


def _next_chunk(response: requests.Response) -> bytes:
    chunk: bytes = response.raw.read1(CHUNK_BYTES, decode_content=True)
    return chunk


def _judge(response: requests.Response, host: str) -> None:
    data = _json(response.content)
    status = response.status_code
    words = str(data.get("error", "")) if data is not None else ""
    detail = f": {words[:300]}" if words else ""
    if status >= 500 or status == 429:
        raise _Unavailable(Reason.UPSTREAM_ERROR, f"{host} answered {status}{detail}")
    if status != 200:
        raise QueryError(Reason.UPSTREAM_REJECTED, f"{host} answered {status}{detail}")
    if data is None or data.get("status") != "success":
        raise QueryError(Reason.UPSTREAM_ERROR, f"{host} answered 200 with something that is no query result{detail}")
    warnings = data.get("warnings")
    if warnings:
        first = str(warnings[0])[:300] if isinstance(warnings, list) else str(warnings)[:300]
        raise QueryError(Reason.PARTIAL, f"{host} answered with a warning: {first}")


def _json(body: bytes) -> Mapping[str, Any] | None:
    try:
        data = json.loads(body)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
