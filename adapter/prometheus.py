"""Prometheus as a source of answers: the one importer of prometheus_api_client and tenacity.

The client library blocks, retries, follows redirects and drops warnings, and its time-out is per read, so a server that
drips bytes holds it for ever. Here every query has one deadline over all its tries and its whole body, a bound on its
size, no redirects, and its warnings are seen. Nothing of these libraries, no exception either, leaves this module, and
no secret either.
"""

import json
import ssl
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit, urlunsplit

import requests
import urllib3
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from tenacity import RetryCallState, Retrying, retry_if_exception_type, wait_exponential_jitter
from urllib3.util.retry import Retry

from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer
from adapter.deadlines import Deadline, DeadlineAdapter, current_deadline, under
from adapter.prometheus_answers import MalformedAnswer, parse_result
from adapter.source_credentials import Credentials, SecretError
from adapter.source_settings import SourceSettings, for_namespace

MAX_BODY_BYTES = 64 * 1024 * 1024
CHUNK_BYTES = 64 * 1024


class QueryError(Exception):
    """A query that gave nothing to use; says why."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.missing = Missing(reason, message)


class _Unavailable(QueryError):
    """A failure that another try may mend."""


class PrometheusSource:
    """Asks one Prometheus; its methods block and are meant to be called in threads."""

    def __init__(
        self,
        url: str,
        *,
        settings: SourceSettings | None = None,
        pool_size: int | None = None,
        on_query: Callable[[str], None] | None = None,
    ) -> None:
        self._settings = settings = settings or SourceSettings(url=url)
        parts = urlsplit(url.rstrip("/"))
        self.host = parts.netloc.rpartition("@")[2]
        # A password in the URL goes where the others are, so that no URL that anybody words an error with has one.
        self.url = urlunsplit(parts._replace(netloc=self.host))
        self._on_query = on_query or (lambda _outcome: None)
        self._credentials = Credentials(settings, _unquoted(parts.username), _unquoted(parts.password))
        session = requests.Session()
        session.max_redirects = 0
        session.trust_env = False
        session.auth = self._credentials
        session.verify = str(settings.ca_file) if settings.ca_file is not None else True
        if settings.client_cert_file is not None and settings.client_key_file is not None:
            # Every new connection reads the files, so that renewed ones are taken up.
            session.cert = (str(settings.client_cert_file), str(settings.client_key_file))
        session.hooks["response"].append(self._read_body)
        session.headers["Accept"] = "application/json"
        self._client = PrometheusConnect(url=self.url, session=session, retry=Retry(total=0))
        # The client mounts an adapter of its own for the URL; ours goes there afterwards.
        adapter = DeadlineAdapter(
            pool_connections=4, pool_maxsize=pool_size or settings.max_concurrent, max_retries=Retry(total=0)
        )
        session.mount(self.url, adapter)
        self._session = session

    def instant(
        self, query: str, at: float, deadline: Deadline, *, namespace: str = "", only_once: bool = False
    ) -> Answer:
        """The answer to an instant query at a time (epoch seconds); a failure is an answer too."""
        params = {"time": _seconds(at), **for_namespace(self._settings.parameters, namespace)}

        def ask(timeout: float) -> object:
            self._credentials.ask_for(namespace)
            return self._client.custom_query(query, params=params, timeout=timeout)

        return self._answer(ask, deadline, only_once)

    def range(
        self,
        query: str,
        start: float,
        end: float,
        step: float,
        deadline: Deadline,
        *,
        namespace: str = "",
        only_once: bool = False,
    ) -> Answer:
        """The answer to a range query on the grid start, start + step, …, end (epoch seconds)."""
        # The client rounds start and end to seconds; its own parameters take precedence and keep them whole.
        params = {
            "start": _seconds(start),
            "end": _seconds(end),
            **for_namespace(self._settings.parameters, namespace),
        }
        first, last = datetime.fromtimestamp(start, UTC), datetime.fromtimestamp(end, UTC)

        def ask(timeout: float) -> object:
            self._credentials.ask_for(namespace)
            return self._client.custom_query_range(
                query,
                first,
                last,
                _seconds(step),
                params=params,
                timeout=timeout,
            )

        return self._answer(ask, deadline, only_once)

    def close(self) -> None:
        """Close idle connections."""
        self._session.close()

    def _answer(self, ask: Callable[[float], object], deadline: Deadline, only_once: bool) -> Answer:
        try:
            answer = Answer(self._once(ask, deadline) if only_once else self._with_tries(ask, deadline))
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
        try:
            if deadline.rest <= 0:
                raise self._timed_out(deadline)
            with under(deadline):
                return parse_result(ask(deadline.rest))
        except QueryError as error:
            if deadline.is_over:  # its socket was shut: what was read is a torso, whatever it looks like
                raise self._timed_out(deadline) from error
            raise
        except SecretError as error:
            raise QueryError(Reason.UPSTREAM_ERROR, f"{self.host} cannot be asked: {error}") from error
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

    def _timed_out(self, deadline: Deadline) -> QueryError:
        return QueryError(Reason.UPSTREAM_TIMEOUT, f"{self.host} did not answer within {deadline.seconds:g} s")

    def _read_body(self, response: requests.Response, *_args: Any, **_kwargs: Any) -> requests.Response:
        """Read the whole body under the deadline and the size bound, and judge status, type and warnings."""
        try:
            if response.is_redirect or response.is_permanent_redirect:
                raise QueryError(Reason.UPSTREAM_REJECTED, f"{self.host} redirects, which is not followed")
            response._content = _bounded_body(response, self.host)
            response._content_consumed = True  # type: ignore[attr-defined]
            data = self._judged(response)
            # The client would decode the body a second time.
            response.json = lambda **_: data  # type: ignore[method-assign]
        except BaseException:
            response.close()
            raise
        return response

    def _judged(self, response: requests.Response) -> Mapping[str, Any]:
        """The document of a good answer; a QueryError for any other."""
        data = _json(response.content)
        status = response.status_code
        words = self._credentials.cleaned(str(data.get("error", ""))) if data is not None else ""
        detail = f": {words[:300]}" if words else ""
        if status >= 500 or status == 429:
            raise _Unavailable(Reason.UPSTREAM_ERROR, f"{self.host} answered {status}{detail}")
        if status != 200:
            raise QueryError(Reason.UPSTREAM_REJECTED, f"{self.host} answered {status}{detail}")
        if data is None or data.get("status") != "success":
            message = f"{self.host} answered 200 with something that is no query result{detail}"
            raise QueryError(Reason.UPSTREAM_ERROR, message)
        warnings = data.get("warnings")
        if warnings:
            first = self._credentials.cleaned(str(warnings[0] if isinstance(warnings, list) else warnings))
            raise QueryError(Reason.PARTIAL, f"{self.host} answered with a warning: {first[:300]}")
        result = data["data"].get("result") if isinstance(data.get("data"), dict) else None
        if isinstance(result, list) and len(result) > self._settings.max_series:
            message = f"{self.host} answered with {len(result)} series, at most {self._settings.max_series} are read"
            raise QueryError(Reason.UPSTREAM_ERROR, message)
        return data


def _pause(seconds: float) -> None:
    threading.Event().wait(seconds)


def _unquoted(text: str | None) -> str | None:
    return unquote(text) if text is not None else None


def _seconds(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


def _cause(error: BaseException) -> str:
    """The innermost words of a connection error, without addresses of objects or credentials."""
    while error.__context__ is not None or (error.args and isinstance(error.args[0], BaseException)):
        inner = error.args[0] if error.args and isinstance(error.args[0], BaseException) else error.__context__
        if inner is None or inner is error:
            break
        error = inner
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if type(error) is OSError and error.errno is None and error.args:
        return str(error.args[0])  # requests' words for files of certificates that are not there
    return getattr(error, "strerror", None) or type(error).__name__


def _bounded_body(response: requests.Response, host: str) -> bytes:
    deadline = current_deadline()
    announced = response.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced) > MAX_BODY_BYTES:
        message = f"{host} announces {announced} bytes, at most {MAX_BODY_BYTES} are read"
        raise QueryError(Reason.UPSTREAM_ERROR, message)
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


def _json(body: bytes) -> Mapping[str, Any] | None:
    try:
        data = json.loads(body)
    except ValueError:
        return None
    return data if isinstance(data, dict) else None
