"""Policies as objects of the API server, for the life of a process: the watch, the judging and the writing of statuses.

Ties them together, so that `serve` only asks what is in force. Without a way to the API server, and without being told
to have one, there is nothing here to do.
"""

import asyncio
import os
from collections.abc import Callable, Mapping

import structlog

from adapter import clock
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.policy_status import Shown
from adapter.core.presets import PresetLibrary
from adapter.core.reach import Reach
from adapter.kube import ApiServerConfigurationError, connect_to_policies
from adapter.kube_policies import PolicyApi
from adapter.policy_objects import Key, PolicyObjects
from adapter.policy_statuses import StatusWriter
from adapter.settings import Settings
from adapter.telemetry import Telemetry

_log = structlog.get_logger("scaleproof.objects")

IN_A_POD = "KUBERNETES_SERVICE_HOST"
"""Set in every Pod; looked at before the library is, which costs half a second and 30 MiB."""


def is_wanted(settings: Settings) -> bool:
    """Whether the API server is asked for policies."""
    if settings.scaling_policies == "auto":
        return settings.kubeconfig is not None or IN_A_POD in os.environ
    return settings.scaling_policies == "true"


class ScalingPolicies:
    """The running watch; `joined` tells what is in force together with the files."""

    def __init__(
        self, library: PresetLibrary, telemetry: Telemetry, on_change: Callable[[], None], reach: Reach | None = None
    ) -> None:
        self._telemetry = telemetry
        self.objects = PolicyObjects(library, telemetry.policy_file_broken, on_change, reach)
        self._tasks: list[asyncio.Task[None]] = []
        self._api: PolicyApi | None = None

    async def start(self, settings: Settings, shown: Callable[[LoadedPolicy], Shown]) -> None:
        """Begin, unless the settings leave it; ApiServerConfigurationError if they demand it and there is no way."""
        if not is_wanted(settings):
            self.objects.has_been_asked_for = True
            return
        try:
            self._api = await connect_to_policies(settings.kubeconfig)
        except ApiServerConfigurationError as error:
            if settings.scaling_policies == "true":
                raise
            _log.warning("scaling-policies-unseen", reason=str(error), effect="policies are those of files")
            self.objects.has_been_asked_for = True
            return
        runs = [self._api.watch(self.objects), self.objects.run()]
        if settings.scaling_policies_status:
            count = self._telemetry.status_written
            writer = StatusWriter(self.objects, self._api, shown, count, clock.now, clock.monotonic)
            runs.append(writer.run())
        self._tasks = [asyncio.create_task(one) for one in runs]

    def joined(self, files: Mapping[Key, LoadedPolicy]) -> Mapping[Key, LoadedPolicy]:
        """What is in force of files and objects."""
        return self.objects.joined(files)

    def not_ready(self, has_files: bool) -> list[str]:
        """Why the process is not ready: nothing was asked, or objects are all there could be and none can be seen."""
        if self.objects.has_been_asked_for and (has_files or self.objects.is_listed):
            return []
        return ["the ScalingPolicies have not been listed yet"]

    async def close(self) -> None:
        """End now."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._api is not None:
            await self._api.close()
