"""Watching a kind of object: list, watch from there, and begin again with growing pauses when that ends.

The library's own Watch reconnects without a pause, repeats a version that is gone and waits for ever on a dead
connection; so the lines of a watch are read here, each watch bounded in time and each line in size. What is watched is
the caller's: the authentication ConfigMap and the ScalingPolicies go through this one loop.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

WATCH_SECONDS = 300
GRACE_SECONDS = 15.0
MAX_LINE_BYTES = 4 * 2**20
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0

Item = Mapping[str, Any]
OnData = Callable[[Mapping[str, str]], None]


class WatchEndedError(Exception):
    """A watch cannot go on from where it was; the message says why, and `status` is the code if there is one."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class WatchCalls(Protocol):
    """The two calls that are needed."""

    async def list(self) -> tuple[str, Sequence[Item]]:
        """The list's version, and all objects that there are."""
        ...

    async def watch(self, version: str, seconds: int) -> Any:
        """The open answer to a watch, with `content.iter_any()` and `close()`."""
        ...


class Watcher(Protocol):
    """Who is told; nothing of it may wait."""

    def listed(self, items: Sequence[Item]) -> None:
        """These are all objects that there are; any other is gone."""
        ...

    def changed(self, item: Item) -> None:
        """The object is new or another."""
        ...

    def deleted(self, item: Item) -> None:
        """The object is gone."""
        ...

    def failed(self, error: Exception) -> None:
        """Listing or watching ended with this, and begins again after a pause; what was told still holds."""
        ...


class ConfigMapWatcher:
    """Tells the data of one ConfigMap, empty where there is none."""

    def __init__(self, on_data: OnData) -> None:
        self._on_data = on_data

    def listed(self, items: Sequence[Item]) -> None:
        self._on_data(dict((items[0].get("data") if items else None) or {}))

    def changed(self, item: Item) -> None:
        self._on_data(item.get("data") or {})

    def deleted(self, item: Item) -> None:
        self._on_data({})

    def failed(self, error: Exception) -> None:
        pass  # whoever needs the CAs says that there are none


async def follow(
    calls: WatchCalls, watcher: Watcher, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Tell the objects as they are and each time one changes, until cancelled."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            version, items = await calls.list()
            watcher.listed(items)
            pause = FIRST_PAUSE_SECONDS
            while True:
                version = await _watch(calls, version, watcher)
        # Whatever it is (the library lets errors of aiohttp, ssl and json through), the cure is to begin again.
        except Exception as error:
            watcher.failed(error)
            await sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def _watch(calls: WatchCalls, version: str, watcher: Watcher) -> str:
    """One watch to its orderly end; the version to go on from."""
    began_at = version
    async with asyncio.timeout(WATCH_SECONDS + GRACE_SECONDS):
        answer = await calls.watch(version, WATCH_SECONDS)
        try:
            if answer.status != 200:
                raise WatchEndedError(f"status {answer.status}", answer.status)
            async for event in _events(answer.content):
                found = event["object"]
                match event["type"]:
                    case "ADDED" | "MODIFIED":
                        watcher.changed(found)
                    case "DELETED":
                        watcher.deleted(found)
                    case "BOOKMARK":
                        pass
                    case other:  # ERROR: 410 says that the version is too old
                        raise WatchEndedError(f"{other} {found.get('code')}", found.get("code"))
                version = str(found["metadata"]["resourceVersion"])
        finally:
            answer.close()
    if version == began_at:
        # An end without any event may be a server that closes at once: pause before the next.
        await asyncio.sleep(FIRST_PAUSE_SECONDS)
    return version


async def _events(content: Any) -> AsyncIterator[dict[str, Any]]:
    kept = b""
    async for chunk in content.iter_any():
        *lines, kept = (kept + chunk).split(b"\n")
        if len(kept) > MAX_LINE_BYTES:
            raise WatchEndedError("an event is too large")
        for line in lines:
            if line.strip():
                yield json.loads(line)
