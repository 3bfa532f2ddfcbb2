"""Hostile clients of the adapter's HTTPS port, each a loop of one kind of abuse until told to stop.

They know the port and hold the front proxy's certificate where the abuse is one that only a user behind the aggregator
could commit. What they are answered does not matter; that others are still served, and what it costs, is the test's.
"""

import asyncio
import random
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress

METRIC = "/apis/external.metrics.k8s.io/v1beta1/namespaces/bench/queue-0"
SECONDS_AT_MOST = 15.0
READ_BYTES = 65_536


class Target:
    """The port, and how to connect to it."""

    def __init__(self, port: int, anonymous: ssl.SSLContext, front_proxy: ssl.SSLContext, seed: int) -> None:
        self.port = port
        self.anonymous = anonymous
        self.front_proxy = front_proxy
        self.draw = random.Random(seed)

    async def connect(self, context: ssl.SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        name = "localhost" if context else None
        return await asyncio.open_connection("127.0.0.1", self.port, ssl=context, server_hostname=name)

    def word(self, length: int) -> str:
        return "".join(self.draw.choices("abcdefghij0123456789", k=length))


async def slow_writer(target: Target) -> None:
    """A request that comes a few bytes at a time and is never complete."""
    _, writer = await target.connect(target.anonymous)
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: h\r\nX: ")
        for _ in range(20):
            await asyncio.sleep(0.5)
            writer.write(b"aaaa")
            await writer.drain()
    finally:
        writer.transport.abort()


async def silent_tcp(target: Target) -> None:
    """A connection that never begins with TLS."""
    _, writer = await target.connect(None)
    try:
        await asyncio.sleep(SECONDS_AT_MOST)
    finally:
        writer.transport.abort()


async def idle_tls(target: Target) -> None:
    """A handshake and then nothing."""
    _, writer = await target.connect(target.anonymous)
    try:
        await asyncio.sleep(SECONDS_AT_MOST)
    finally:
        writer.transport.abort()


async def bad_tls(target: Target) -> None:
    """Bytes that are no handshake, or the first half of one."""
    reader, writer = await target.connect(None)
    try:
        hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"
        writer.write(target.draw.choice([target.draw.randbytes(5000), hello + target.draw.randbytes(100)]))
        await writer.drain()
        async with asyncio.timeout(1):
            await reader.read(READ_BYTES)
    finally:
        writer.transport.abort()


async def big_headers(target: Target) -> None:
    """Users and groups that nobody has, by the hundred, as large as headers may be."""
    lines = [f"X-Remote-User: {target.word(200)}"]
    lines += [f"X-Remote-Group: {target.word(target.draw.choice([20, 200, 2000]))}" for _ in range(200)]
    lines += [f"X-Remote-Extra-{target.word(20)}: {target.word(target.draw.choice([10, 60_000]))}"]
    await _ask(target, METRIC, lines)


async def many_users(target: Target) -> None:
    """A hundred users that have never been seen, on one connection, each with a review of its own."""
    await _ask_all(target, [(METRIC, [f"X-Remote-User: {target.word(100)}"]) for _ in range(100)])


async def huge_selectors(target: Target) -> None:
    """Selectors of 60 KB, valid and not, of the user who may ask."""
    lines = ["X-Remote-User: system:serviceaccount:kube-system:horizontal-pod-autoscaler"]
    values = ",".join(target.word(6) for _ in range(8000))
    wild = target.draw.choice([f"a+in+({values})", f"a+in+({values}", "!a," * 18_000, "(" * 50_000])
    await _ask(target, f"{METRIC}?labelSelector={wild}", lines)


async def many_selectors(target: Target) -> None:
    """A hundred selectors and parameters that have never been seen, on one connection."""
    lines = ["X-Remote-User: system:serviceaccount:kube-system:horizontal-pod-autoscaler"]
    drawn = [f"a!%3D{target.word(40)}&{target.word(target.draw.choice([5, 1500]))}" for _ in range(100)]
    await _ask_all(target, [(f"{METRIC}?labelSelector={one}", lines) for one in drawn])


async def never_reads(target: Target) -> None:
    """Thousands of requests on one connection and not one answer read."""
    _, writer = await target.connect(target.anonymous)
    requests = b"GET /readyz?verbose HTTP/1.1\r\nHost: h\r\n\r\nGET /apis HTTP/1.1\r\nHost: h\r\n\r\n"
    writer.transport.pause_reading()  # type: ignore[attr-defined]  # or asyncio reads ahead by itself
    try:
        async with asyncio.timeout(SECONDS_AT_MOST):
            while not writer.transport.is_closing():
                writer.write(requests * 100)
                await _sent(writer)
    finally:
        writer.transport.abort()


async def endless_body(target: Target) -> None:
    """A body that does not end, to a path that reads none."""
    _, writer = await target.connect(target.anonymous)
    try:
        writer.write(b"POST /healthz HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n")
        async with asyncio.timeout(SECONDS_AT_MOST / 3):
            while not writer.transport.is_closing():
                writer.write(b"8000\r\n" + b"x" * 32_768 + b"\r\n")
                await _sent(writer)
    finally:
        writer.transport.abort()


ABUSES: dict[Callable[[Target], Awaitable[None]], int] = {
    slow_writer: 60,
    silent_tcp: 60,
    idle_tls: 100,
    bad_tls: 10,
    big_headers: 4,
    many_users: 2,
    huge_selectors: 2,
    many_selectors: 2,
    never_reads: 4,
    endless_body: 2,
}
"""Abuse → how many at the same time."""


async def _sent(writer: asyncio.StreamWriter) -> None:
    """Wait until more may be written. `drain` alone returns at once where the other side has hung up, and a loop of
    writes would never let the event loop hear of it."""
    await writer.drain()
    await asyncio.sleep(0.001)


async def _ask(target: Target, path: str, lines: list[str]) -> None:
    await _ask_all(target, [(path, lines)])


async def _ask_all(target: Target, asked: list[tuple[str, list[str]]]) -> None:
    reader, writer = await target.connect(target.front_proxy)
    try:
        for path, lines in asked:
            writer.write("\r\n".join([f"GET {path} HTTP/1.1", "Host: h", *lines, "", ""]).encode())
            async with asyncio.timeout(SECONDS_AT_MOST):
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0]))
    finally:
        writer.transport.abort()


async def abuse(target: Target) -> None:
    """All of it at once, until cancelled."""

    async def again_and_again(one: Callable[[Target], Awaitable[None]]) -> None:
        while True:
            with suppress(OSError, asyncio.IncompleteReadError, TimeoutError, ssl.SSLError, asyncio.LimitOverrunError):
                await one(target)
            await asyncio.sleep(0.05)

    async with asyncio.TaskGroup() as group:
        for one, at_once in ABUSES.items():
            for _ in range(at_once):
                group.create_task(again_and_again(one))
