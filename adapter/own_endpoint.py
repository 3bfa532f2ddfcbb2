"""The adapter's own plain HTTP endpoint: /metrics for Prometheus, /explain for whoever asks why it scaled.

It is not part of the API that Kubernetes sees, and carries no identity: bind it where only operators reach it.
"""

from collections.abc import Callable

from aiohttp import web

from adapter.telemetry import CONTENT_TYPE


class OwnEndpoint:
    """A small server on the metrics address."""

    def __init__(self, exposition: Callable[[], bytes], account: Callable[[], list[dict[str, object]]]) -> None:
        self._exposition, self._account = exposition, account
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/explain", self._explain)
        app.router.add_get("/healthz", self._health)
        self._runner = web.AppRunner(app, access_log=None, handle_signals=False)

    async def start(self, host: str, port: int) -> int:
        """Listen; the port in use. OSError if it is taken."""
        await self._runner.setup()
        site = web.TCPSite(self._runner, host or None, port)
        await site.start()
        bound: int = self._runner.addresses[0][1]
        return bound

    async def close(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _metrics(self, _request: web.Request) -> web.Response:
        return web.Response(body=self._exposition(), headers={"Content-Type": CONTENT_TYPE})

    async def _explain(self, request: web.Request) -> web.Response:
        """Every signal with its account; ?namespace= and ?policy= narrow it."""
        signals = [
            one
            for one in self._account()
            if all(one[key] == request.query[key] for key in ("namespace", "policy", "metric") if key in request.query)
        ]
        return web.json_response({"signals": signals})

    async def _health(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")
