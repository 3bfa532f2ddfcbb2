"""The client of the bench "serve": so many connections, each with one request under way, for so many seconds.

It writes ready bytes and reads just enough of an answer to know where it ends, so that it costs less than what it
measures. Its own CPU time is nobody's figure: the server is another process.
"""

import asyncio
import ssl
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

HPA = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
HANDSHAKE_SECONDS = 10.0


class LoadError(RuntimeError):
    """The server does not answer as it should; there is nothing to measure."""


@dataclass(slots=True)
class Tally:
    """What the connections of a round have seen."""

    begin: float
    deadline: float
    seconds: list[float] = field(default_factory=list)
    body: bytes = b""
    fault: str = ""

    @property
    def per_second(self) -> float:
        """GETs in each second of the round."""
        return len(self.seconds) / (self.deadline - self.begin)

    @property
    def p50_ms(self) -> float:
        """Half of the answers took less."""
        return statistics.median(self.seconds) * 1000

    @property
    def p99_ms(self) -> float:
        """99 of 100 answers took less."""
        return sorted(self.seconds)[len(self.seconds) * 99 // 100] * 1000


def request(path: str) -> bytes:
    """A GET as the aggregator passes on that of the HorizontalPodAutoscaler."""
    lines = [
        f"GET {path} HTTP/1.1",
        "Host: scaleproof.scaleproof-system.svc",
        "User-Agent: kube-controller-manager/v1.36.3 (linux/amd64) kubernetes/0000000/horizontal-pod-autoscaler",
        "Accept: application/vnd.kubernetes.protobuf, */*",
        "Accept-Encoding: gzip",
        "X-Forwarded-For: 10.0.0.2",
        f"X-Remote-User: {HPA}",
        "X-Remote-Group: system:serviceaccounts",
        "X-Remote-Group: system:serviceaccounts:kube-system",
        "X-Remote-Group: system:authenticated",
        "X-Remote-Uid: 9f1c3e1e-3c0c-4f7e-9d3e-6c6f1c8b8a11",
    ]
    return "\r\n".join([*lines, "", ""]).encode()


class _Client(asyncio.Protocol):
    """One connection: sends the next request when an answer is complete."""

    def __init__(self, requests: Sequence[bytes], start: int) -> None:
        self._tally = Tally(0.0, 0.0)
        self._requests = requests
        self._next = start
        self._received = b""
        self._sent = 0.0
        self._transport: asyncio.Transport | None = None
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one by behaviour, not by descent

    def begin(self, tally: Tally) -> None:
        """Send until the tally's deadline; `done` tells when the last answer is in."""
        self._tally = tally
        self.done = asyncio.get_running_loop().create_future()
        self._send()

    def _send(self) -> None:
        if self._transport is None or self._transport.is_closing():
            self._end("the connection is closed")
            return
        self._next = (self._next + 1) % len(self._requests)
        self._sent = time.perf_counter()
        self._transport.write(self._requests[self._next])

    def data_received(self, data: bytes) -> None:
        received = self._received + data if self._received else data
        head = received.find(b"\r\n\r\n")
        if head < 0:
            self._received = received
            return
        at = received.index(b"Content-Length: ") + 16
        if len(received) < head + 4 + int(received[at : received.index(b"\r\n", at)]):
            self._received = received
            return
        self._received = b""
        now = time.perf_counter()
        if not received.startswith(b"HTTP/1.1 200"):
            self._tally.fault = received[:300].decode("latin-1")
        self._tally.seconds.append(now - self._sent)
        if now < self._tally.deadline and not self._tally.fault:
            self._send()
        else:
            self._tally.body = received[head + 4 :]
            self._end("")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(f"the connection was closed: {exc}")

    def _end(self, fault: str) -> None:
        if not self.done.done():
            self._tally.fault = self._tally.fault or fault
            self.done.set_result(None)

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


async def load(
    port: int, context: ssl.SSLContext, requests: Sequence[bytes], connections: int, rounds: int, seconds: float
) -> list[Tally]:
    """Load the server for some rounds over the same connections; LoadError if an answer is not 200."""
    loop = asyncio.get_running_loop()
    tallies: list[Tally] = []
    clients: list[_Client] = []
    try:
        for number in range(connections):
            client = _Client(requests, number * len(requests) // connections)
            clients.append(client)
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                await loop.create_connection(
                    lambda one=client: one,  # type: ignore[misc]
                    "127.0.0.1",
                    port,
                    ssl=context,
                    server_hostname="localhost",
                )
        for _ in range(rounds):
            now = time.perf_counter()
            tally = Tally(now, now + seconds)
            for client in clients:
                client.begin(tally)
            async with asyncio.timeout(seconds + HANDSHAKE_SECONDS):
                await asyncio.gather(*(client.done for client in clients))
            if tally.fault:
                raise LoadError(tally.fault)
            tallies.append(tally)
    finally:
        for client in clients:
            client.close()
    return tallies
