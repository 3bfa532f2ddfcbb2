"""The adapter's own plain HTTP endpoint: /metrics for Prometheus, /explain and a page for whoever asks why it scaled.

It is not part of the API that Kubernetes sees, and carries no identity. /metrics tells numbers; accounts tell every
tenant's queries and labels, so they go to loopback alone unless the settings say otherwise.
"""

from collections.abc import Callable
from typing import Literal, Protocol

from aiohttp import web

from adapter.accounts import TooManyError, Wanted, read_wanted, render_explanation
from adapter.core.label_selectors import SelectorError
from adapter.explain_page import explain_page
from adapter.loopback import is_from_loopback
from adapter.telemetry import CONTENT_TYPE

REFUSAL = """\
This shows the account of every namespace's signals without asking who you are, so it answers only what comes from
loopback. Either
  kubectl -n NAMESPACE-OF-THE-ADAPTER port-forward deployment/scaleproof 8080
and open http://127.0.0.1:8080/, or ask as yourself, for what you may read:
  kubectl get --raw '/apis/external.metrics.k8s.io/v1beta1/namespaces/NAMESPACE/METRIC?explain=true'
(--explain-page on answers everybody, off nobody.)
"""
OFF = "/explain is off (--explain-page off); ask the API: METRIC?explain=true\n"


class AccountSource(Protocol):
    """Gives the accounts of all signals, and the time by which their ages are counted."""

    def accounts(self, wanted: Wanted) -> list[dict[str, object]]: ...

    def now(self) -> float: ...


class OwnEndpoint:
    """A small server on the metrics address."""

    def __init__(
        self,
        exposition: Callable[[], bytes],
        source: AccountSource,
        shown_to: Literal["auto", "on", "off"] = "auto",
    ) -> None:
        self._exposition, self._source, self._shown_to = exposition, source, shown_to
        self._page = explain_page()
        app = web.Application()
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/explain", self._explain)
        app.router.add_get("/", self._show)
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
        """Every signal with its account; namespace, policy, metric and labelSelector narrow it."""
        if refusal := self._refusal(request):
            return refusal
        try:
            accounts = self._source.accounts(read_wanted(request.query))
        except (SelectorError, TooManyError) as error:
            return web.Response(status=400, text=f"{error}\n")
        headers = {"Content-Type": "application/json; charset=utf-8", **_PRIVATE}
        return web.Response(body=render_explanation(self._source.now(), accounts), headers=headers)

    async def _show(self, request: web.Request) -> web.Response:
        """The page that shows what /explain says."""
        if refusal := self._refusal(request):
            return refusal
        headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Security-Policy": self._page.content_security_policy,
            "Referrer-Policy": "no-referrer",
            **_PRIVATE,
        }
        return web.Response(body=self._page.body, headers=headers)

    def _refusal(self, request: web.Request) -> web.Response | None:
        if self._shown_to == "off":
            return web.Response(status=404, text=OFF)
        if self._shown_to == "on" or is_from_loopback(request.remote, request.headers):
            return None
        return web.Response(status=403, text=REFUSAL)

    async def _health(self, _request: web.Request) -> web.Response:
        return web.Response(text="ok")


_PRIVATE = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
}
