"""A cluster as a table of paths, for commands that only read and ask; and the objects that a healthy one has."""

import base64
from collections.abc import Mapping
from typing import Any

from certificates import Authority

from adapter.kube_objects import Document, Refused
from adapter.preflight.look import API_SERVICE
from adapter.preflight.rights import AUTHENTICATION_CONFIG

API_SERVICE_NAME = API_SERVICE.rpartition("/")[2]


class FakeCluster:
    """Answers 404 to what is not in the table; `forbidden` says who may not do what, as (user's name, resource)."""

    def __init__(self, objects: Mapping[str, Any], forbidden: frozenset[tuple[str, str]] = frozenset()) -> None:
        self.objects = objects
        self.forbidden = forbidden
        self.asked: list[str] = []

    async def get(self, path: str) -> Document | Refused:
        self.asked.append(path)
        found: Document | Refused = self.objects.get(path.partition("?")[0], Refused(404, "not found"))
        return found

    async def post(self, path: str, document: Document) -> Document | Refused:
        spec = document["spec"]
        asked = (spec["user"].rpartition(":")[2], spec["resourceAttributes"]["resource"])
        return {"status": {"allowed": asked not in self.forbidden}}

    async def close(self) -> None:
        return


def api_service(name: str = "scaleproof", namespace: str = "scaleproof-system", **spec: Any) -> dict[str, Any]:
    """An APIService that is available and whose authority lives ten years; `spec` adds or takes away (None)."""
    bundle = base64.b64encode(Authority("test authority").pem.encode()).decode()
    merged = {"service": {"name": name, "namespace": namespace, "port": 443}, "caBundle": bundle, **spec}
    return {
        "metadata": {"name": API_SERVICE_NAME},
        "spec": {key: value for key, value in merged.items() if value is not None},
        "status": {"conditions": [{"type": "Available", "status": "True", "reason": "Passed"}]},
    }


def healthy() -> dict[str, Any]:
    """What an installed adapter's cluster answers, without policies and HPAs."""
    return {
        "/version": {"gitVersion": "v1.36.3"},
        API_SERVICE: api_service(),
        AUTHENTICATION_CONFIG: {
            "data": {"requestheader-client-ca-file": "PEM", "requestheader-allowed-names": '["front-proxy-client"]'}
        },
        "/apis/autoscaling/v2/horizontalpodautoscalers": {"items": []},
    }
