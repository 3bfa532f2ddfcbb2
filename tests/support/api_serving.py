"""A real HTTPS server on loopback, with a cluster's certificate authorities and stand-ins for what it asks."""

import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from api_fakes import FakeApiServer, FakeMetrics
from certificates import Authority
from raw_http import client_context

from adapter.core.external_metrics import MetricValue
from adapter.http_protocol import Limits
from adapter.server import RunningServer, start_server
from adapter.settings import load_settings

AS_OF_SECONDS = 1_796_068_701.9  # 2026-11-30T19:58:21Z and nine tenths
QUEUE = {("default", "queue"): [MetricValue("queue", {}, AS_OF_SECONDS, "100")]}


def authentication_config(client_ca: str, front_proxy_ca: str, names: str = '["front-proxy-client"]') -> dict[str, str]:
    """The ConfigMap extension-apiserver-authentication as kubeadm's kube-apiserver writes it."""
    return {
        "client-ca-file": client_ca,
        "requestheader-client-ca-file": front_proxy_ca,
        "requestheader-allowed-names": names,
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }


@dataclass
class Cluster:
    """The authorities of a cluster and the contexts of those who call."""

    folder: Path
    cluster_ca: Authority = field(default_factory=lambda: Authority("kubernetes"))
    front_proxy_ca: Authority = field(default_factory=lambda: Authority("front-proxy-ca"))

    @property
    def config_map(self) -> dict[str, str]:
        return authentication_config(self.cluster_ca.pem, self.front_proxy_ca.pem)

    def context(self, authority: Authority, name: str, organizations: tuple[str, ...] = ()) -> ssl.SSLContext:
        """The context of a client that shows a certificate of the authority."""
        return client_context(authority.issue(name, organizations).write(self.folder, name.replace(":", "-")))

    @property
    def front_proxy(self) -> ssl.SSLContext:
        return self.context(self.front_proxy_ca, "front-proxy-client")


@asynccontextmanager
async def serving(
    api_server: FakeApiServer | None,
    metrics: FakeMetrics | None = None,
    readiness: Callable[[], list[str]] = list,
    on_request: Callable[[int], None] = lambda code: None,
    on_tls_error: Callable[[], None] = lambda: None,
    flags: Mapping[str, object] | None = None,
    reload_seconds: float = 3600.0,
    monotonic: Callable[[], float] = lambda: 0.0,
    limits: Limits | None = None,
) -> AsyncIterator[RunningServer]:
    """A server that ends with the block; its clock stands still unless one is given."""
    given = {"policies": "policies", "prometheus": "http://prometheus:9090", "bind_address": "127.0.0.1"}
    settings = load_settings({**given, "secure_port": 0, **(flags or {})}, {})
    running = await start_server(
        settings,
        metrics or FakeMetrics(QUEUE),
        readiness,
        on_request,
        on_tls_error,
        api_server=api_server,
        monotonic=monotonic,
        reload_seconds=reload_seconds,
        limits=limits,
    )
    try:
        yield running
    finally:
        await running.close()
