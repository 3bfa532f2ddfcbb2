"""The ScalingPolicies at the API server: all of them watched, and the status of one written.

A status is written by server-side apply under one name for all adapters, so that what the second writes as well is no
change and costs no event.
"""

from collections.abc import Mapping
from typing import Any, Protocol
from urllib.parse import quote

from adapter.core.custom_resource import GROUP, PLURAL, VERSION
from adapter.core.policy import API_VERSION, KIND
from adapter.kube_resources import JsonCalls, Resource
from adapter.kube_watch import Watcher, follow

BASE = f"/apis/{GROUP}/{VERSION}"
FIELD_MANAGER = "scaleproof"


class PolicyApi(Protocol):
    """What the adapter asks of the API server about its policies."""

    async def watch(self, watcher: Watcher) -> None:
        """Tell the policies of all namespaces and each change, until cancelled."""
        ...

    async def write_status(self, namespace: str, name: str, uid: str, status: Mapping[str, Any]) -> None:
        """Write the status of one; ReviewUnavailableError if it is not taken."""
        ...

    async def close(self) -> None: ...


class PolicyResources:
    """The policies by their paths."""

    def __init__(self, calls: JsonCalls) -> None:
        self._calls = calls

    async def watch(self, watcher: Watcher) -> None:
        await follow(Resource(self._calls, f"{BASE}/{PLURAL}", {}), watcher)

    async def write_status(self, namespace: str, name: str, uid: str, status: Mapping[str, Any]) -> None:
        path = f"{BASE}/namespaces/{quote(namespace, safe='')}/{PLURAL}/{quote(name, safe='')}/status"
        # With its uid: an object that was made anew under the name is another one, and this status is not its own.
        metadata = {"name": name, "namespace": namespace, "uid": uid}
        body = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "status": status}
        await self._calls.patch(path, {"fieldManager": FIELD_MANAGER, "force": "true"}, body)

    async def close(self) -> None:
        await self._calls.close()
