"""A Prometheus on loopback that behaves as told: right, slow, broken or hostile. Ten lines a behaviour."""

import json
import ssl
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

Behaviour = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request; a behaviour answers it."""

    protocol_version = "HTTP/1.1"
    server: "FakePrometheus"

    def do_GET(self) -> None:
        self.parameters = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.seen[self.parameters.get("query", "")] += 1
        self.server.times.append(float(self.parameters.get("time", "0")))
        self.server.asked.append((self.parameters, {name.lower(): value for name, value in self.headers.items()}))
        self.server.behaviour_of(self.parameters.get("query", ""))(self)

    def send(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


class FakePrometheus(ThreadingHTTPServer):
    """Behaviours by a part of the query; the first part that occurs in it counts."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, default: Behaviour, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Exchange)
        self.scheme = "https" if tls else "http"
        if tls:  # the handshake is the handling thread's, at its first read
            self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.default = default
        self.behaviours: dict[str, Behaviour] = {}
        self.seen: Counter[str] = Counter()
        self.times: list[float] = []
        self.asked: list[tuple[dict[str, str], dict[str, str]]] = []
        """Parameters and headers of every request."""
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.server_address[1]}"

    def behaviour_of(self, query: str) -> Behaviour:
        return next((one for part, one in self.behaviours.items() if part in query), self.default)

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hung up is what these tests are about."""


@contextmanager
def fake_prometheus(default: Behaviour, tls: ssl.SSLContext | None = None) -> Iterator[FakePrometheus]:
    server = FakePrometheus(default, tls)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        thread.join(5)
        server.server_close()


def success(result: object, kind: str = "vector", **more: object) -> bytes:
    return json.dumps({"status": "success", "data": {"resultType": kind, "result": result}, **more}).encode()


def answering(value: float | str, **labels: str) -> Behaviour:
    """One series whose sample is as old as the instant asked for."""

    def behave(exchange: Exchange) -> None:
        at = float(exchange.parameters.get("time") or exchange.parameters["end"])
        if exchange.parameters.get("query", "").endswith("]"):
            exchange.send(200, success([{"metric": labels, "values": [[at, str(value)]]}], "matrix"))
        else:
            exchange.send(200, success([{"metric": labels, "value": [at, str(value)]}]))

    return behave


def failing(status: int, body: bytes = b"starting up", kind: str = "text/plain", **headers: str) -> Behaviour:
    return lambda exchange: exchange.send(status, body, kind, **headers)


def hanging(exchange: Exchange) -> None:
    """Accept and never answer."""
    exchange.server.closing.wait(60)


def cut_off(exchange: Exchange) -> None:
    """Promise a body and hang up within it."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", "100000")
    exchange.end_headers()
    exchange.wfile.write(b'{"status":')
    exchange.close_connection = True


def dripping(exchange: Exchange) -> None:
    """Send the body a byte at a time, so that no single read ever times out."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", "100000")
    exchange.end_headers()
    while not exchange.server.closing.wait(0.05):
        exchange.wfile.write(b" ")
        exchange.wfile.flush()


def dripping_head(exchange: Exchange) -> None:
    """Send the status line a byte at a time."""
    exchange.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not exchange.server.closing.wait(0.05):
        exchange.wfile.write(b"x")
        exchange.wfile.flush()


def endless(exchange: Exchange) -> None:
    """Send a body without end, as fast as it goes."""
    exchange.send_response(200)
    exchange.send_header("Connection", "close")
    exchange.end_headers()
    while not exchange.server.closing.is_set():
        exchange.wfile.write(b" " * 65536)
