"""The floor of the bench "serve": the same HTTP library and TLS with a body that is ready, and nothing else.

No authentication, authorization, routes or selectors. usage: python -m adapter.benches.floor CERTIFICATE KEY BODY_FILE;
prints `ready PORT`.
"""

import asyncio
import ssl
import sys
from collections.abc import Awaitable
from pathlib import Path

import uvloop
from aiohttp import web


def serve_until_killed(made: Awaitable[web.Application], context: ssl.SSLContext | None) -> None:
    """Serve an application on a free loopback port, on the event loop that the adapter uses."""

    async def serve() -> None:
        runner = web.AppRunner(await made, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        print(f"ready {runner.addresses[0][1]}", flush=True)  # noqa: T201 - told to whoever started us
        await asyncio.Event().wait()

    uvloop.run(serve())


async def _application(body: bytes) -> web.Application:
    async def answer(request: web.Request) -> web.Response:
        return web.Response(body=body, content_type="application/json")

    made = web.Application()
    made.router.add_get("/{anything:.*}", answer)
    return made


def main() -> None:
    """Serve until killed."""
    certificate, key, body = sys.argv[1:]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    serve_until_killed(_application(Path(body).read_bytes()), context)


if __name__ == "__main__":
    main()
