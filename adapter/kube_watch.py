"""Watching one ConfigMap: list, watch from there, and begin again with growing pauses when that ends.

The library's own Watch reconnects without a pause, repeats a version that is gone and waits for ever on a dead
connection; so the lines of a watch are read here, each watch bounded in time and each line in size.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Protocol

WATCH_SECONDS = 300
GRACE_SECONDS = 15.0
MAX_LINE_BYTES = 4 * 2**20
FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 30.0

OnData = Callable[[Mapping[str, str]], None]


class WatchEndedError(Exception):
    """A watch cannot go on from where it was; the message says why."""


class ConfigMapCalls(Protocol):
    """The two calls that are needed."""

    async def list(self) -> tuple[str, Mapping[str, str]]:
        """The list's version, and the data of the ConfigMap (empty if there is none)."""
        ...

    async def watch(self, version: str, seconds: int) -> Any:
        """The open answer to a watch, with `content.iter_any()` and `close()`."""
        ...


async def follow(
    calls: ConfigMapCalls, on_data: OnData, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep
) -> None:
    """Tell the data as it is and each time it changes, until cancelled."""
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            version, data = await calls.list()
            on_data(data)
            pause = FIRST_PAUSE_SECONDS
            while True:
                version = await _watch(calls, version, on_data)
        # Whatever it is (the library lets errors of aiohttp, ssl and json through), the cure is to begin again.
        except Exception:
            await sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


async def _watch(calls: ConfigMapCalls, version: str, on_data: OnData) -> str:
    """One watch to its orderly end; the version to go on from."""
    began_at = version
    async with asyncio.timeout(WATCH_SECONDS + GRACE_SECONDS):
        answer = await calls.watch(version, WATCH_SECONDS)
        try:
            if answer.status != 200:
                raise WatchEndedError(f"status {answer.status}")
            async for event in _events(answer.content):
                found = event["object"]
                match event["type"]:
                    case "ADDED" | "MODIFIED":
                        on_data(found.get("data") or {})
                    case "DELETED":
                        on_data({})
                    case "BOOKMARK":
                        pass
                    case other:  # ERROR: 410 says that the version is too old
                        raise WatchEndedError(f"{other} {found.get('code')}")
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
