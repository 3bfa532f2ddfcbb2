"""A loopback endpoint that answers Prometheus' query API from a played trace.

It is what the unchanged adapter asks instead of a Prometheus: /api/v1/query with selectors, in Prometheus' JSON and
with its errors, and /-/ready. It evaluates no functions: what it cannot answer it refuses with 422, in words.
Source: https://prometheus.io/docs/prometheus/latest/querying/api/
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import isfinite
from urllib.parse import parse_qs, urlsplit

from sim.demo.exposition import Labels
from sim.demo.player import TracePlayer
from sim.demo.selectors import NotEvaluated, QueryMistake, Selector, as_metric, parse_selector

MAX_BODY_BYTES = 100_000
SOCKET_SECONDS = 30.0
LOOKBACK_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and the JSON that goes with it."""

    status: int
    body: object


class QueryApi:
    """The query API as a function from parameters to answers; no sockets here."""

    def __init__(self, player: TracePlayer, now: Callable[[], float]) -> None:
        self._player, self._now = player, now

    def answer(self, path: str, parameters: dict[str, str]) -> Answer:
        """The answer to a request."""
        if path == "/-/ready":
            return Answer(200, "Prometheus Server is Ready.")
        if path.startswith("/api/v1/") and path != "/api/v1/query":
            return _error(422, "execution", "the demonstration answers /api/v1/query only")
        if path != "/api/v1/query":
            return Answer(404, "404 page not found")
        try:
            at = self._time(parameters.get("time"))
            selector = parse_selector(parameters.get("query", ""))
        except QueryMistake as mistake:
            return _error(400, "bad_data", str(mistake))
        except NotEvaluated as lack:
            return _error(422, "execution", str(lack))
        if selector.seconds is None:
            return _success("vector", self._vector(selector, at))
        return _success("matrix", self._matrix(selector, selector.seconds, at))

    def _time(self, text: str | None) -> float:
        if text is None:
            return self._now()
        try:
            value = float(text)
        except ValueError:
            try:
                value = datetime.fromisoformat(text).timestamp()
            except ValueError:
                value = float("nan")
        if not isfinite(value):
            raise QueryMistake(f'invalid parameter "time": cannot parse "{text}" to a valid timestamp')
        return value

    def _matrix(self, selector: Selector, seconds: float, at: float) -> list[dict[str, object]]:
        """Samples later than at - range and not later than at, with their own times."""
        found: dict[Labels, list[tuple[float, str]]] = {}
        refused: set[Labels] = set()
        for scrape in self._player.scrapes(self._now()):
            if not at - seconds < scrape.time <= at:
                continue
            for series in scrape.metrics.get(selector.name, ()):
                values = found.get(series.labels)
                if values is None:
                    if series.labels in refused:
                        continue
                    if not selector.matches(series.labels):
                        refused.add(series.labels)
                        continue
                    values = found[series.labels] = []
                values.append((scrape.time, _text(series.value)))
        return [{"metric": as_metric(selector.name, labels), "values": values} for labels, values in found.items()]

    def _vector(self, selector: Selector, at: float) -> list[dict[str, object]]:
        """The newest samples, stamped with the time asked for; a series that the last scrape lacked is gone."""
        past = [one for one in self._player.scrapes(self._now()) if at - LOOKBACK_SECONDS < one.time <= at]
        if not past:
            return []
        return [
            {"metric": as_metric(selector.name, series.labels), "value": (round(at, 3), _text(series.value))}
            for series in past[-1].metrics.get(selector.name, ())
            if selector.matches(series.labels)
        ]


def _text(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _success(kind: str, result: list[dict[str, object]]) -> Answer:
    return Answer(200, {"status": "success", "data": {"resultType": kind, "result": result}})


def _error(status: int, kind: str, words: str) -> Answer:
    return Answer(status, {"status": "error", "errorType": kind, "error": words})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    """The default of 5 overflows when the adapter asks all its queries at once, and a lost SYN costs a second."""


class PrometheusEndpoint:
    """The query API on a free port of the loopback interface, in threads of its own."""

    def __init__(self, player: TracePlayer, now: Callable[[], float] = time.time) -> None:
        self._player, self._now = player, now
        self._server = _Server(("127.0.0.1", 0), _handler(QueryApi(player, now)))
        self._thread = threading.Thread(target=self._serve, name="prometheus-endpoint", daemon=True)

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        """Answer from now on; the past is made first, so that the first question does not wait for it."""
        self._player.scrapes(self._now())
        self._thread.start()

    def _serve(self) -> None:
        self._server.serve_forever(poll_interval=0.05)

    def close(self) -> None:
        """Stop answering and free the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


def _handler(api: QueryApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = SOCKET_SECONDS
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._reply("")

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
                self.close_connection = True
                self._send(_error(400, "bad_data", f"a form of at most {MAX_BODY_BYTES} bytes is expected"))
                return
            self._reply(self.rfile.read(int(length)).decode("utf-8", "replace"))

        def _reply(self, form: str) -> None:
            parts = urlsplit(self.path)
            query = {**parse_qs(parts.query, max_num_fields=100), **parse_qs(form, max_num_fields=100)}
            self._send(api.answer(parts.path, {name: values[0] for name, values in query.items()}))

        def _send(self, answer: Answer) -> None:
            is_text = isinstance(answer.body, str)
            body = answer.body.encode() if isinstance(answer.body, str) else json.dumps(answer.body).encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", "text/plain; charset=utf-8" if is_text else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            try:
                self.wfile.write(body)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True  # whoever asked has gone

        def log_message(self, format: str, *args: object) -> None:
            """Requests are not worth a line each."""

    return Handler
