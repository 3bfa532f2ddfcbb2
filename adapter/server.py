"""The HTTPS server: starts it with everything it needs, keeps certificates and CAs fresh, and ends it gracefully.

Knows nothing of policies: the board gives it rendered answers through `MetricSource`, and tells through `Readiness` why
it cannot yet. Handlers of signals and of own metrics belong to the command that starts it.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

import structlog

from adapter.api_handler import ApiHandler
from adapter.authorization import AllowAll, Authorizer, ReviewingAuthorizer
from adapter.certificates import ClientTrust, PeerVerifier
from adapter.client_trust import TrustError, TrustSource
from adapter.http_protocol import Connections, Limits
from adapter.identity import Authenticator
from adapter.kube import ApiServer, ApiServerConfigurationError, connect
from adapter.no_api_server import NoApiServer
from adapter.reviews import ReviewUnavailableError
from adapter.routes import Health, MetricSource, Readiness, Routes
from adapter.settings import Settings
from adapter.tls import PairReloader, ServingContext, TlsError, read_pair, self_signed_pair

RELOAD_SECONDS = 20.0
"""Three looks a minute: what is swapped on disk is in force within 60 s even if one look fails."""

HANDSHAKE_SECONDS = 10.0
DRAIN_NOTICE_SECONDS = 3.0
DRAIN_FINISH_SECONDS = 5.0
DRAIN_CLOSE_SECONDS = 2.0

_log = structlog.get_logger("scaleproof.server")


class ServerStartError(Exception):
    """The server cannot start; the message says what is wrong and what to do about it."""


class RunningServer:
    """A server that listens."""

    def __init__(
        self, listener: asyncio.Server, connections: Connections, handler: ApiHandler, health: Health, address: str
    ) -> None:
        self._listener = listener
        self._connections = connections
        self._handler = handler
        self._health = health
        self._background: list[asyncio.Task[None]] = []
        self._api_server: ApiServer | None = None
        self.port: int = listener.sockets[0].getsockname()[1]
        self.url = f"https://{f'[{address}]' if ':' in address else address}:{self.port}"

    def keep(self, tasks: "list[asyncio.Task[None]]", api_server: ApiServer | None) -> None:
        """Take over what has to end with the server."""
        self._background += tasks
        self._api_server = api_server

    async def drain(self, notice_seconds: float = DRAIN_NOTICE_SECONDS) -> None:
        """End without losing a request, in less than 12 s.

        First `/readyz` says 503 and answers carry `Connection: close`, so that endpoints are withdrawn and clients go
        elsewhere; then nothing new is accepted and what is under way may finish.
        """
        self._health.is_draining = True
        await asyncio.sleep(notice_seconds)
        self._listener.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_FINISH_SECONDS):
                await self._handler.is_idle.wait()
        await self.close()

    async def close(self) -> None:
        """End now."""
        self._listener.close()
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)
        self._connections.pre_shutdown()
        await self._connections.shutdown(DRAIN_CLOSE_SECONDS)
        if self._api_server is not None:
            await self._api_server.close()
            self._api_server = None


async def start_server(
    settings: Settings,
    metrics: MetricSource,
    readiness: Readiness,
    on_request: Callable[[int], None],
    on_tls_error: Callable[[], None] = lambda: None,
    *,
    on_certificate: Callable[[float], None] = lambda expiry: None,
    api_server: ApiServer | None = None,
    monotonic: Callable[[], float] = time.monotonic,
    reload_seconds: float = RELOAD_SECONDS,
    limits: Limits | None = None,
) -> RunningServer:
    """Start serving; ServerStartError if the settings cannot be served.

    `on_request` is told the status of each answer, `on_tls_error` of each bad serving pair found on disk, and
    `on_certificate` when each serving certificate that comes into force runs out, in epoch seconds.
    """
    limits = limits or Limits()
    refresher = _Refresher(settings, on_tls_error, on_certificate)
    if api_server is None and settings.needs_api_server:
        api_server = await _connected(settings)
    refresher.api_server = api_server
    await refresher.first_look()
    health = refresher.health = Health(readiness)
    health.has_trust = refresher.has_trust
    authenticator = Authenticator(lambda: refresher.trust, PeerVerifier(), api_server, monotonic)
    authorizer = _authorizer(settings, api_server, monotonic)
    handler = ApiHandler(Routes(metrics), health, authenticator, authorizer, on_request, limits.in_flight)
    connections = Connections(handler, limits)
    try:
        listener = await asyncio.get_running_loop().create_server(
            connections,
            # `localhost` is two addresses, and with port 0 they would get two ports.
            "127.0.0.1" if settings.bind_address == "localhost" else settings.bind_address,
            settings.secure_port,
            ssl=refresher.context.listener,
            ssl_handshake_timeout=HANDSHAKE_SECONDS,
            ssl_shutdown_timeout=DRAIN_CLOSE_SECONDS,
            backlog=512,
        )
    except OSError as error:
        if api_server is not None:
            await api_server.close()
        where = f"{settings.bind_address}:{settings.secure_port}"
        raise ServerStartError(f"cannot listen on {where}: {error.strerror}; free the port or give another") from error
    running = RunningServer(listener, connections, handler, health, settings.bind_address)
    running.keep(refresher.tasks(reload_seconds), api_server)
    return running


async def _connected(settings: Settings) -> ApiServer:
    """The API server; none where there is no way to one and the flags tell the front proxy's CA."""
    try:
        return await connect(settings.kubeconfig)
    except ApiServerConfigurationError as error:
        if settings.kubeconfig is not None or settings.requestheader_client_ca_file is None:
            raise ServerStartError(str(error)) from error
        _log.warning("no-api-server", reason=str(error), effect="only what needs no review is answered")
        return NoApiServer(str(error))


def _authorizer(settings: Settings, api_server: ApiServer | None, monotonic: Callable[[], float]) -> Authorizer:
    if settings.authorization_mode == "AlwaysAllow":
        return AllowAll()
    if api_server is None:
        raise ServerStartError("authorization needs the API server; give --kubeconfig")
    return ReviewingAuthorizer(api_server, monotonic)


class _Refresher:
    """Keeps the serving pair and the trusted CAs those of the moment; the last good ones stay while new ones fail."""

    def __init__(
        self, settings: Settings, on_tls_error: Callable[[], None], on_certificate: Callable[[float], None]
    ) -> None:
        self._source = TrustSource(settings)
        self.api_server: ApiServer | None = None
        self._on_tls_error, self._on_certificate = on_tls_error, on_certificate
        self._last_fault = ""
        self._config_map: Mapping[str, str] | None = None
        self.trust = ClientTrust()
        self.has_trust = False
        self.health: Health | None = None
        certificate, key = settings.tls_cert_file, settings.tls_private_key_file
        self._pair: PairReloader | None = None
        try:
            pair = read_pair(certificate, key) if certificate and key else self_signed_pair()
            self.context = ServingContext(pair, self.trust, self._source.may_trust_certificates)
            if certificate and key:
                self._pair = PairReloader(self.context, certificate, key, self._bad_pair)
            self._source.trust({}, self.trust)  # a file named by a flag has to be good at the start
        except TlsError as error:
            raise ServerStartError(f"{error}; give a PEM certificate chain and its key") from error
        except TrustError as error:
            raise ServerStartError(f"{error}; give a bundle of PEM certificates") from error
        self._tell_expiry()

    def tasks(self, every_seconds: float) -> "list[asyncio.Task[None]]":
        """What keeps files and ConfigMap fresh, begun."""
        tasks = [asyncio.create_task(self._look_at_files(every_seconds))]
        if self._source.needs_config_map and self.api_server is not None:
            tasks.append(asyncio.create_task(self.api_server.watch_authentication_config(self._take)))
        return tasks

    async def _look_at_files(self, every_seconds: float) -> None:
        while True:
            await asyncio.sleep(every_seconds)
            self._look()

    async def first_look(self) -> None:
        """Read everything once, so that the first client is known; without the API server the watch brings it later."""
        if self._source.needs_config_map and self.api_server is not None:
            try:
                self._take(await self.api_server.read_authentication_config())
            except ReviewUnavailableError as error:
                _log.warning("client-trust-not-read", reason=str(error))
        else:
            self._take({})

    def _take(self, config_map: Mapping[str, str]) -> None:
        self._config_map = dict(config_map)
        self._look()

    def _look(self) -> None:
        if self._pair is not None and self._pair.look():
            _log.info("serving-pair-changed")
            self._tell_expiry()
        if self._config_map is None:
            return
        try:
            trust = self._source.trust(self._config_map, self.trust)
            if trust is not self.trust:
                self.context.use_trust(trust)
                self.trust = trust
                _log.info("client-trust-changed", generation=trust.generation)
        except (TrustError, TlsError) as error:
            if str(error) != self._last_fault:
                _log.warning("client-trust-not-read", reason=str(error))
            self._last_fault = str(error)
            return
        self._last_fault = ""
        self.has_trust = True
        if self.health is not None:
            self.health.has_trust = True

    def _tell_expiry(self) -> None:
        if (expiry := self.context.expiry) is not None:
            self._on_certificate(expiry)

    def _bad_pair(self, reason: str) -> None:
        self._on_tls_error()
        _log.warning("serving-pair-refused", reason=reason)
