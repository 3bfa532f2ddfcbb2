"""The external metrics API on the wire: the value list, the Status, and the documents of discovery, as JSON bytes.

Bytes are rendered once and served many times, so this is the only place that knows the order of fields. It follows
what Go's encoder writes (compact, `<`, `>` and `&` escaped, a newline at the end), so that a client cannot tell the
difference. Knows no HTTP, no policy and no clock.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

GROUP = "external.metrics.k8s.io"
VERSION = "v1beta1"
GROUP_VERSION = f"{GROUP}/{VERSION}"

_GO_ESCAPES = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"})


@dataclass(frozen=True, slots=True)
class Reply:
    """What a metric source answers: an HTTP status, the JSON body, and the tick it belongs to, if it has one."""

    status: int
    body: bytes
    tick_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class MetricValue:
    """One item of an answer; `value` is a quantity's text and `as_of_seconds` the time of its oldest sample."""

    metric_name: str
    labels: Mapping[str, str]
    as_of_seconds: float
    value: str


@dataclass(frozen=True, slots=True)
class Cause:
    """One machine-readable cause of an error."""

    reason: str
    message: str
    field: str = ""


@dataclass(frozen=True, slots=True)
class Details:
    """What a Status is about; the empty one is written as `{}`, as the API machinery does for routing errors."""

    name: str = ""
    group: str = ""
    kind: str = ""
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """An error answer of the Kubernetes API."""

    code: int
    reason: str
    message: str
    details: Details | None = None

    def render(self) -> bytes:
        document: dict[str, object] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        document["message"] = self.message
        if self.reason:
            document["reason"] = self.reason
        if self.details is not None:
            document["details"] = _details(self.details)
        document["code"] = self.code
        return render_json(document)

    def reply(self, tick_seconds: float | None = None) -> Reply:
        """The Status as the answer of a metric source."""
        return Reply(self.code, self.render(), tick_seconds)


def _details(details: Details) -> dict[str, object]:
    fields: dict[str, object] = {"name": details.name, "group": details.group, "kind": details.kind}
    document = {key: value for key, value in fields.items() if value}
    if details.causes:
        causes = [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in details.causes]
        document["causes"] = [{key: value for key, value in cause.items() if value} for cause in causes]
    return document


def bad_request(message: str) -> Status:
    """400: the request cannot be understood, e.g. its label selector."""
    return Status(400, "BadRequest", message)


def unknown_metric(metric: str) -> Status:
    """404: no metric of that name in the namespace, or no group of it that the selector matches."""
    message = f'the server could not find the metric "{metric}" in this namespace, or none that the selector matches'
    return Status(404, "NotFound", message, Details(name=metric, group=GROUP))


def no_signal(metric: str, reason: str, message: str) -> Status:
    """503: the metric exists and has no value now; the cause says why, so that nobody has to read prose."""
    return Status(503, "ServiceUnavailable", message, Details(metric, GROUP, "", (Cause(reason, message),)))


def render_value_list(items: Iterable[MetricValue]) -> bytes:
    """An ExternalMetricValueList; labels are written in the order of their names."""
    return render_json(
        {
            "kind": "ExternalMetricValueList",
            "apiVersion": GROUP_VERSION,
            "metadata": {},
            "items": [
                {
                    "metricName": item.metric_name,
                    "metricLabels": dict(sorted(item.labels.items())),
                    "timestamp": rfc3339(item.as_of_seconds),
                    "value": item.value,
                }
                for item in items
            ],
        }
    )


def rfc3339(seconds: float) -> str:
    """Whole seconds in UTC, rounded down: a sample never looks younger than it is."""
    return datetime.fromtimestamp(seconds // 1, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def render_json(document: object) -> bytes:
    """Compact JSON as Go's encoder writes it."""
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_GO_ESCAPES).encode("utf-8", "replace") + b"\n"


def render_pretty(body: bytes) -> bytes:
    """The same document for human eyes: two spaces, no newline at the end."""
    return json.dumps(json.loads(body), ensure_ascii=False, indent=2).translate(_GO_ESCAPES).encode()


_GROUP_VERSION_ENTRY = {"groupVersion": GROUP_VERSION, "version": VERSION}
_GROUP_ENTRY = {"name": GROUP, "versions": [_GROUP_VERSION_ENTRY], "preferredVersion": _GROUP_VERSION_ENTRY}

# One placeholder stands for every metric: listing them would show one tenant the names of another, and an empty list
# makes clients log errors. Its bytes never change, so neither does the ETag.
PLACEHOLDER_RESOURCE = "externalmetrics"

API_GROUP_LIST = render_json({"kind": "APIGroupList", "apiVersion": "v1", "groups": [_GROUP_ENTRY]})
API_GROUP = render_json({"kind": "APIGroup", "apiVersion": "v1", **_GROUP_ENTRY})
API_RESOURCE_LIST = render_json(
    {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": GROUP_VERSION,
        "resources": [
            {
                "name": PLACEHOLDER_RESOURCE,
                "singularName": "",
                "namespaced": True,
                "kind": "ExternalMetricValueList",
                "verbs": ["get"],
            }
        ],
    }
)


def render_group_discovery(discovery_version: str) -> bytes:
    """The aggregated discovery document of a version (`v2`, `v2beta1`), never empty: clients trust what it lists."""
    resource = {
        "resource": PLACEHOLDER_RESOURCE,
        "responseKind": {"group": GROUP, "version": VERSION, "kind": "ExternalMetricValueList"},
        "scope": "Namespaced",
        "singularResource": "",
        "verbs": ["get"],
    }
    version = {"version": VERSION, "resources": [resource], "freshness": "Current"}
    return render_json(
        {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{discovery_version}",
            "metadata": {},
            "items": [{"metadata": {"name": GROUP, "creationTimestamp": None}, "versions": [version]}],
        }
    )


def render_version(version: str, python_version: str, platform: str) -> bytes:
    """The answer of `/version`: what a Go server says of itself, said of this one."""
    major, _, rest = version.partition(".")
    return render_json(
        {
            "major": major,
            "minor": rest.partition(".")[0],
            "gitVersion": f"v{version}",
            "gitCommit": "",
            "gitTreeState": "",
            "buildDate": "",
            "goVersion": f"python{python_version}",
            "compiler": "",
            "platform": platform,
        }
    )
