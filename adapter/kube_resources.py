"""One kind of object at the API server, as a watch asks for it: a list in pages, and a watch from there.

Knows paths and queries; who sends them, and which library does, is the caller's.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from adapter.kube_watch import GRACE_SECONDS, Item

PAGE_ITEMS = 500
MAX_PAGES = 20
"""A list ends at 10,000 objects; what would come after them is not seen."""


class JsonCalls(Protocol):
    """GET and server-side apply, each bounded in time; what goes wrong is a ReviewUnavailableError."""

    async def read(self, path: str, query: Mapping[str, str]) -> dict[str, Any]: ...

    async def open(self, path: str, query: Mapping[str, str], seconds: float) -> Any: ...

    async def patch(self, path: str, query: Mapping[str, str], body: Mapping[str, Any]) -> None: ...

    async def close(self) -> None: ...


class Resource:
    """All objects under a path that the query selects."""

    def __init__(self, calls: JsonCalls, path: str, query: Mapping[str, str]) -> None:
        self._calls, self._path, self._query = calls, path, dict(query)

    async def list(self) -> tuple[str, list[Item]]:
        items: list[Item] = []
        query = {**self._query, "limit": str(PAGE_ITEMS)}
        for _ in range(MAX_PAGES):
            found = await self._calls.read(self._path, query)
            items += found["items"]
            query["continue"] = found["metadata"].get("continue") or ""
            if not query["continue"]:
                break
        return str(found["metadata"]["resourceVersion"]), items

    async def watch(self, version: str, seconds: int) -> Any:
        query = {
            **self._query,
            "watch": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
            # They move the version on while nothing changes here, so that it does not grow too old to go on from.
            "allowWatchBookmarks": "true",
        }
        # The library's own time-out is five minutes for the whole answer; `follow` has one that fits.
        return await self._calls.open(self._path, query, seconds + GRACE_SECONDS)
