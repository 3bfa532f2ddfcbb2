"""A client that sends exactly the bytes it is given over TLS, because HTTP libraries correct what tests get wrong."""

import asyncio
import json
import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PREFIX = "/apis/external.metrics.k8s.io/v1beta1"


@dataclass(frozen=True)
class HttpAnswer:
    """One answer off the wire."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict:
        return json.loads(self.body)


def client_context(pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    """A context that trusts any server; what is under test is what the server thinks of the client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if pair is not None:
        context.load_cert_chain(*pair)
    return context


class Connection:
    """A connection that is kept open between requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def open(cls, port: int, context: ssl.SSLContext | None = None) -> "Connection":
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context or client_context())
        return cls(reader, writer)

    async def send(self, data: bytes, is_head: bool = False) -> HttpAnswer:
        async with asyncio.timeout(10):
            self.writer.write(data)
            await self.writer.drain()
            head = await self.reader.readuntil(b"\r\n\r\n")
            first, *lines = head.decode("latin-1").strip().split("\r\n")
            headers = {key.lower(): value for key, _, value in (line.partition(": ") for line in lines)}
            length = 0 if is_head else int(headers.get("content-length", "0"))
            return HttpAnswer(int(first.split()[1]), headers, await self.reader.readexactly(length))

    async def get(self, target: str, headers: dict[str, str] | None = None, method: str = "GET") -> HttpAnswer:
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost"]
        lines += [f"{key}: {value}" for key, value in (headers or {}).items()]
        return await self.send("\r\n".join([*lines, "", ""]).encode(), is_head=method == "HEAD")

    async def close(self) -> None:
        self.writer.close()
        with suppress(ssl.SSLError, ConnectionError):
            await self.writer.wait_closed()


async def get(
    port: int,
    target: str,
    headers: dict[str, str] | None = None,
    context: ssl.SSLContext | None = None,
    method: str = "GET",
) -> HttpAnswer:
    """One request on a connection of its own."""
    connection = await Connection.open(port, context)
    try:
        return await connection.get(target, headers, method)
    finally:
        await connection.close()
