"""`scaleproof serve`: ties the policies, the pollers, the board and the server together for the life of a process."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Mapping

import structlog
import typer

from adapter import clock
from adapter.board import Board
from adapter.bundled import load_presets
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.problems import Problem
from adapter.kube import ApiServerConfigurationError
from adapter.logs import configure_logs
from adapter.own_endpoint import OwnEndpoint
from adapter.policy_files import PolicyFolderError
from adapter.policy_folder import PolicyFolder
from adapter.poller import PolicyPoller, Turns
from adapter.scaling_policies import ScalingPolicies
from adapter.server import ServerStartError, start_server
from adapter.settings import Settings
from adapter.settings_flags import with_settings_flags
from adapter.source_telemetry import SourceTelemetry
from adapter.sources import NotBound, Sources
from adapter.telemetry import Telemetry

LOOK_SECONDS = 2.0
"""The policy folder is looked at this often, so that a change is in force, or counted as broken, within 4 s."""

_log = structlog.get_logger("scaleproof")


class StartError(Exception):
    """The process cannot start; the message says what to do about it."""


class Adapter:
    """Everything that runs in one process."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.telemetry = Telemetry()
        self.board = Board(clock.now)
        told = SourceTelemetry(self.telemetry.registry)
        self.sources = Sources(settings.every_source, told, self.telemetry.queried)
        library = load_presets()
        self.folder = (
            PolicyFolder(settings.policies, library, self.report_broken, settings.reach) if settings.policies else None
        )
        self.files: Mapping[tuple[str, str], LoadedPolicy] = {}
        self.objects = ScalingPolicies(library, self.telemetry, self.put_in_force, settings.reach)
        self.pollers: dict[tuple[str, str], tuple[LoadedPolicy, asyncio.Task[None]]] = {}
        self.turns = Turns()
        self.has_read_policies = False
        self._changes = 0

    def report_broken(self, file: str, problems: list[Problem]) -> None:
        """Count a broken file once and log each of its problems with its place."""
        self.telemetry.policy_file_broken()
        for problem in problems:
            _log.error("policy-problem", place=str(problem).splitlines()[0], fix=problem.fix)

    def put_in_force(self) -> None:
        """Run what files and objects say together."""
        self.apply(self.objects.joined(self.files))

    def apply(self, policies: Mapping[tuple[str, str], LoadedPolicy]) -> None:
        """Start what is new, stop what is gone, restart what changed; what says the same is not touched."""
        self._changes += 1
        for key in [one for one in self.pollers if one not in policies]:
            _, task = self.pollers.pop(key)
            task.cancel()
            self.telemetry.withdrawn(key)
            _log.info("policy-withdrawn", policy="/".join(key), change=self._changes)
        for key, loaded in policies.items():
            running = self.pollers.get(key)
            if running is not None and (running[0] is loaded or running[0].policy == loaded.policy):
                continue  # not even if it stands in another place now: its memory would be fetched again
            if running is not None:
                running[1].cancel()
            try:
                asker = self.sources.asker(loaded.plan)
            except NotBound:
                _log.error("policy-not-bound", policy="/".join(key), file=loaded.document.file)
                continue
            poller = PolicyPoller(loaded, asker, self.board, self.telemetry, self.turns)
            self.pollers[key] = (loaded, asyncio.create_task(poller.run()))
            _log.info("policy-in-force", policy="/".join(key), file=loaded.document.file, change=self._changes)
        self.board.keep(list(policies.values()))
        self.telemetry.policies_in_force(len(policies))

    async def watch_folder(self) -> None:
        """Look at the folder until cancelled; a folder that cannot be read keeps what is in force."""
        fault = ""
        while self.folder is not None:
            try:
                started = clock.monotonic()
                policies = await asyncio.to_thread(self.folder.look)
                self._take(self.folder, policies, started)
                fault = ""
            except (PolicyFolderError, OSError) as error:
                if str(error) != fault:
                    self.telemetry.policy_file_broken()
                    _log.error("policy-folder-unreadable", reason=str(error))
                fault = str(error)
            except Exception:
                # A fault of ours must not end the watch: no later change of any policy would be seen.
                self.telemetry.policy_file_broken()
                _log.exception("policy-folder-fault")
            await asyncio.sleep(LOOK_SECONDS)

    def _take(
        self, folder: PolicyFolder, policies: Mapping[tuple[str, str], LoadedPolicy], look_started: float
    ) -> None:
        """Put what a look found into force, if anything of it is new."""
        if policies is not self.files or not self.has_read_policies:
            self.files = policies
            self.put_in_force()
            self.telemetry.reloaded(clock.monotonic() - look_started)
        self.telemetry.policy_files_broken(folder.broken_files)
        self.has_read_policies = True

    def not_ready(self) -> list[str]:
        """Why the process is not ready, Prometheus aside: its absence is told per signal."""
        own = [] if self.has_read_policies else ["the policies have not been read yet"]
        return own + self.objects.not_ready(self.folder is not None)

    async def run(self) -> None:
        """Serve until SIGTERM or SIGINT, then drain."""
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stopping.set)
        try:
            if self.folder is not None:
                self._take(self.folder, self.folder.look(), clock.monotonic())
        except PolicyFolderError as error:
            raise StartError(str(error)) from error
        self.has_read_policies = True
        own = OwnEndpoint(self.telemetry.exposition, self.board, self.settings.explain_page)
        server = await start_server(
            self.settings,
            self.board,
            self.not_ready,
            self.telemetry.requested,
            self.telemetry.tls_pair_broken,
            on_certificate=self.telemetry.certificate_in_force,
        )
        watching = asyncio.create_task(self.watch_folder())
        try:
            host, _, port = self.settings.metrics_bind_address.rpartition(":")
            try:
                own_port = await own.start(host.strip("[]"), int(port))
            except OSError as error:
                message = (
                    f"cannot listen on --metrics-bind-address {self.settings.metrics_bind_address}: {error.strerror}"
                )
                raise StartError(f"{message}; free the port or give another") from error
            try:
                await self.objects.start(self.settings, self.board.shown)
            except ApiServerConfigurationError as error:
                raise StartError(str(error)) from error
            _log.info("serving", url=server.url, metrics_port=own_port, policies=len(self.pollers))
            print(f"metrics http://{host or '0.0.0.0'}:{own_port}/metrics", flush=True)  # noqa: S104, T201 - told to whoever started us
            print(f"ready {server.url}", flush=True)  # noqa: T201 - told to whoever started us
            await stopping.wait()
            _log.info("draining")
            await server.drain()
        finally:
            watching.cancel()
            for _, task in self.pollers.values():
                task.cancel()
            await server.close()
            await self.objects.close()
            await own.close()
            self.sources.close()


def serve(settings: Settings) -> None:
    """Serve scaling signals through the external metrics API."""
    adapter = Adapter(settings)
    configure_logs(settings.log_level, settings.log_format, adapter.telemetry.log_line_suppressed)
    try:
        run_until_done(adapter)
    except (StartError, ServerStartError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error


app = typer.Typer(add_completion=False)
app.command()(with_settings_flags(serve))


def run_until_done(adapter: Adapter) -> None:
    """Run on uvloop where it is installed; threads that still wait for a source are not waited for."""
    if sys.platform == "win32":
        asyncio.run(adapter.run())
        return
    import uvloop

    uvloop.run(adapter.run())
    if any(thread.name.startswith("query") for thread in threading.enumerate()):
        # A thread that resolves a name or connects cannot be woken, and the interpreter would wait for it.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
