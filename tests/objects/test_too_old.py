"""A real 410: the API server no longer has the events since a version, and the loop lists anew."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from child_process import eventually
from cluster import Cluster
from scaling_policy import policy_object, put

from adapter.kube import AUTHENTICATION_CONFIG_MAP, AUTHENTICATION_CONFIG_MAPS, connect
from adapter.kube_policies import BASE, PLURAL
from adapter.kube_resources import JsonCalls, Resource
from adapter.kube_watch import ConfigMapWatcher, Item, OnData, follow

pytestmark = pytest.mark.slow

TLS_CLOSE_SECONDS = 0.25
"""A TLS connection that is closed takes a moment of the loop to be gone; else it is found open when the loop ends."""

LONG_AGO = "1"
"""A version from before the API server began to keep events: it answers a watch from there as one from a day ago."""


class LateWatch:
    """The real calls, but the first watch asks for what happened since long ago."""

    def __init__(self, resource: Resource) -> None:
        self._resource = resource
        self.asked: list[str] = []

    async def list(self) -> tuple[str, Sequence[Item]]:
        self.asked.append("list")
        return await self._resource.list()

    async def watch(self, version: str, seconds: int) -> Any:
        is_first = not any(one.startswith("watch") for one in self.asked)
        self.asked.append("watch")
        return await self._resource.watch(LONG_AGO if is_first else version, seconds)


class Told:
    """Writes down what the loop tells."""

    def __init__(self) -> None:
        self.failures: list[int | None] = []
        self.names: list[str] = []

    def listed(self, items: Sequence[Item]) -> None:
        self.names += [f"listed {item['metadata']['name']}" for item in items]

    def changed(self, item: Item) -> None:
        self.names.append(f"changed {item['metadata']['name']}")

    def deleted(self, item: Item) -> None:
        self.names.append(f"deleted {item['metadata']['name']}")

    def failed(self, error: Exception) -> None:
        self.failures.append(getattr(error, "status", None))


class CountingFailures(ConfigMapWatcher):
    """The ConfigMap's own watcher, which says nothing of failures, with a note of them."""

    def __init__(self, on_data: OnData) -> None:
        super().__init__(on_data)
        self.failures: list[int | None] = []

    def failed(self, error: Exception) -> None:
        self.failures.append(getattr(error, "status", None))


async def until(probe: Callable[[], object]) -> None:
    await asyncio.to_thread(eventually, probe, "the loop has told it")


async def test_policies_are_listed_anew_and_watched_on(cluster: Cluster, kubeconfig: Path) -> None:
    api = await connect(kubeconfig)
    told = Told()
    with cluster.namespace("prod"):
        await asyncio.to_thread(put, cluster, policy_object("old"))
        calls = LateWatch(Resource(cast(JsonCalls, api), f"{BASE}/{PLURAL}", {}))
        following = asyncio.create_task(follow(calls, told))
        try:
            await until(lambda: told.failures and told.names.count("listed old") == 2)
            await asyncio.to_thread(put, cluster, policy_object("new"))
            await until(lambda: "changed new" in told.names)
            await asyncio.to_thread(cluster.kubectl, "delete", "spol", "--all", "--namespace=prod")
            await until(lambda: {"deleted old", "deleted new"} <= set(told.names))
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await api.close()
            await asyncio.sleep(TLS_CLOSE_SECONDS)
    assert told.failures == [410]
    assert calls.asked == ["list", "watch", "list", "watch"]


async def test_the_authentication_config_map_is_listed_anew(own_cluster: Cluster) -> None:
    """The API server has just been started anew, and keeps events only from there on."""
    assert own_cluster.control_plane is not None
    await asyncio.to_thread(own_cluster.control_plane.stop_apiserver)
    await asyncio.to_thread(own_cluster.control_plane.start_apiserver)
    api = await connect(own_cluster.kubeconfig)
    heard: list[Any] = []
    watcher = CountingFailures(heard.append)
    which = {"fieldSelector": f"metadata.name={AUTHENTICATION_CONFIG_MAP}"}
    calls = LateWatch(Resource(cast(JsonCalls, api), AUTHENTICATION_CONFIG_MAPS, which))
    following = asyncio.create_task(follow(calls, watcher))
    try:
        await until(lambda: calls.asked == ["list", "watch", "list", "watch"])
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await api.close()
        await asyncio.sleep(TLS_CLOSE_SECONDS)
    assert watcher.failures == [410]
    assert len(heard) == 2
    assert "requestheader-client-ca-file" in heard[1]
