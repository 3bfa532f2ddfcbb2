"""What is served where: discovery, the metric, OpenAPI, version and health. Who may ask is settled before.

Paths are matched exactly as they were authorized: decoded, split, never normalised. The order for a metric is that of
an API server: verb, Accept, query parameters, metric.
"""

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Protocol

from adapter.accounts import Wanted, is_yes, read_wanted
from adapter.answers import (
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    NOT_FOUND,
    TEXT,
    Answer,
    StaticDocument,
    of_reply,
    of_status,
)
from adapter.core.api_requests import ApiRequest
from adapter.core.external_metrics import (
    API_GROUP,
    API_GROUP_LIST,
    API_RESOURCE_LIST,
    GROUP,
    VERSION,
    Details,
    Reply,
    Status,
    render_group_discovery,
    render_json,
    render_version,
)
from adapter.core.list_options import check_list_options
from adapter.core.media_types import accepts_json, discovery_content_type, discovery_version
from adapter.core.openapi import OPENAPI_V2, OPENAPI_V3, OPENAPI_V3_PATH, render_v3_index

Readiness = Callable[[], list[str]]
"""Why signals are not served yet; an empty list means ready. Shown to anybody: no names of policies in it."""

EXPLAIN = "explain"
"""`METRIC?explain=true` is the account of METRIC. A parameter and not a path below it, so that kube-apiserver and this
server authorize it as what it is, a read of that metric: `METRIC/explain` would be the verb `get` on an object."""

_HEALTH_CHECKS = {"/healthz": ("ping",), "/livez": ("ping",), "/readyz": ("ping", "shutdown", "client-ca", "signals")}
_ROOT = f"/apis/{GROUP}/{VERSION}"
_WATCH = of_status(
    Status(
        405,
        "MethodNotAllowed",
        f'watch is not supported on resources of kind "*.{GROUP}"',
        Details(group=GROUP, kind="*"),
    )
)


class MetricSource(Protocol):
    """Gives the value of a metric, rendered; it reads the selector and never waits."""

    def reply(self, namespace: str, metric: str, label_selector: str) -> Reply: ...

    def explain(self, namespace: str, metric: str, wanted: Wanted) -> Reply:
        """The account of the metric; who may read the value may read this."""
        ...


class Routes:
    """Finds the answer to a request that is allowed."""

    def __init__(self, metrics: MetricSource) -> None:
        self._metrics = metrics
        own_version = render_version(version("scaleproof"), platform.python_version(), platform.system().lower())
        v3 = StaticDocument(OPENAPI_V3)
        self._v3_digest = v3.digest
        self._discovery: dict[str, StaticDocument] = {
            "/apis": StaticDocument(API_GROUP_LIST),
            f"/apis/{GROUP}": StaticDocument(API_GROUP),
            _ROOT: StaticDocument(API_RESOURCE_LIST),
            "/version": StaticDocument(own_version),
        }
        self._aggregated = {
            name: StaticDocument(render_group_discovery(name), discovery_content_type(name))
            for name in ("v2", "v2beta1")
        }
        self._others: dict[str, StaticDocument] = {
            "/openapi/v2": StaticDocument(OPENAPI_V2),
            "/openapi/v3": StaticDocument(render_v3_index(self._v3_digest)),
            OPENAPI_V3_PATH: v3,
        }
        paths = sorted([*self._discovery, *self._others, *_HEALTH_CHECKS])
        self._others["/"] = StaticDocument(render_json({"paths": paths}))

    def answer(self, request: ApiRequest, headers: Mapping[str, str], accept: str) -> Answer:
        """The answer; `headers` are looked up without regard to case."""
        if_none_match = headers.get("If-None-Match", "")
        if request.path in self._others:
            return self._other(request, if_none_match)
        path = request.path.removesuffix("/")
        if path in self._discovery:
            if request.method != "GET":
                return METHOD_NOT_ALLOWED
            aggregated = discovery_version(accept) if path == "/apis" else None
            document = self._aggregated[aggregated] if aggregated else self._discovery[path]
            return document.answer(if_none_match)
        if not path.startswith(_ROOT + "/"):
            return NOT_FOUND
        parts = path[len(_ROOT) + 1 :].split("/")
        if len(parts) != 3 or parts[0] != "namespaces" or not parts[2]:
            return NOT_FOUND
        return self._metric(request, parts[1], parts[2], accept)

    def _other(self, request: ApiRequest, if_none_match: str) -> Answer:
        wanted = request.parameters.get("hash", "")
        if request.path == OPENAPI_V3_PATH and wanted and wanted != self._v3_digest:
            return Answer(301, b"", headers={"Location": f"{OPENAPI_V3_PATH}?hash={self._v3_digest}"})
        return self._others[request.path].answer(if_none_match)

    def _metric(self, request: ApiRequest, namespace: str, metric: str, accept: str) -> Answer:
        if request.method != "GET":
            return METHOD_NOT_ALLOWED
        if request.is_watch:
            return _WATCH
        if not accepts_json(accept):
            return NOT_ACCEPTABLE
        if fault := check_list_options(request.parameters):
            return of_status(fault)
        if is_yes(request.parameters, EXPLAIN):
            return of_reply(self._metrics.explain(namespace, metric, read_wanted(request.parameters)))
        return of_reply(self._metrics.reply(namespace, metric, request.parameters.get("labelSelector", "")))


class Health:
    """`/healthz`, `/livez` and `/readyz`: open to everybody and independent of everything but this process."""

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness
        self.is_draining = False
        self.has_trust = False

    def answer(self, request: ApiRequest) -> Answer | None:
        """The answer, or None if the path is none of health."""
        for path, checks in _HEALTH_CHECKS.items():
            if request.path == path:
                return self._together(path, checks, "verbose" in request.parameters)
            if request.path.startswith(path + "/") and request.path[len(path) + 1 :] in checks:
                faults = self._faults(request.path[len(path) + 1 :])
                return Answer(503 if faults else 200, "\n".join(faults or ["ok"]).encode(), TEXT)
        return None

    def _together(self, path: str, checks: tuple[str, ...], is_verbose: bool) -> Answer:
        faults = {check: self._faults(check) for check in checks}
        is_failed = any(faults.values())
        if not is_failed and not is_verbose:
            return Answer(200, b"ok", TEXT)
        lines = [
            f"[-]{check} failed: {', '.join(found)}" if found else f"[+]{check} ok" for check, found in faults.items()
        ]
        lines.append(f"{path[1:]} check {'failed' if is_failed else 'passed'}")
        return Answer(503 if is_failed else 200, "\n".join([*lines, ""]).encode(), TEXT)

    def _faults(self, check: str) -> list[str]:
        if check == "shutdown":
            return ["shutting down"] if self.is_draining else []
        if check == "client-ca":
            return [] if self.has_trust else ["the CAs of client certificates are not read yet"]
        return self._readiness() if check == "signals" else []
