"""Strict decoding of autoscaling/v2: which fields there are and which kind of value each takes, as a table.

The API server decodes JSON into Go types and, with strict field validation, refuses what does not fit: an unknown
field, text for a number, a number for text, an int32 that overflows. null counts as absent.
Source: k8s.io/api/autoscaling/v2/types.go, k8s.io/apimachinery/pkg/apis/meta/v1/types.go.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from adapter.core.documents import Path
from sim.hpa.arithmetic import MAX32, MAX64, MIN32, MIN64
from sim.hpa.findings import Finding, dotted
from sim.hpa.quantities import QuantityError, parse

STRUCTS: Mapping[str, Mapping[str, str]] = {
    "HorizontalPodAutoscaler": {
        "apiVersion": "string", "kind": "string", "metadata": "ObjectMeta", "spec": "Spec", "status": "Status",
    },
    "ObjectMeta": {
        "name": "string", "generateName": "string", "namespace": "string", "selfLink": "string", "uid": "string",
        "resourceVersion": "string", "generation": "int64", "creationTimestamp": "time", "deletionTimestamp": "time",
        "deletionGracePeriodSeconds": "int64", "labels": "map", "annotations": "map",
        "ownerReferences": "[]OwnerReference", "finalizers": "[]string", "managedFields": "[]ManagedFields",
    },
    "OwnerReference": {
        "apiVersion": "string", "kind": "string", "name": "string", "uid": "string", "controller": "bool",
        "blockOwnerDeletion": "bool",
    },
    "ManagedFields": {
        "manager": "string", "operation": "string", "apiVersion": "string", "time": "time", "fieldsType": "string",
        "fieldsV1": "any", "subresource": "string",
    },
    "Spec": {
        "scaleTargetRef": "ObjectReference", "minReplicas": "int32", "maxReplicas": "int32",
        "metrics": "[]MetricSpec", "behavior": "Behavior",
    },
    "ObjectReference": {"kind": "string", "name": "string", "apiVersion": "string"},
    "MetricSpec": {
        "type": "string", "object": "ObjectSource", "pods": "PodsSource", "resource": "ResourceSource",
        "containerResource": "ContainerResourceSource", "external": "ExternalSource",
    },
    "ObjectSource": {"describedObject": "ObjectReference", "target": "Target", "metric": "Identifier"},
    "PodsSource": {"metric": "Identifier", "target": "Target"},
    "ResourceSource": {"name": "string", "target": "Target"},
    "ContainerResourceSource": {"name": "string", "target": "Target", "container": "string"},
    "ExternalSource": {"metric": "Identifier", "target": "Target"},
    "Identifier": {"name": "string", "selector": "LabelSelector"},
    "LabelSelector": {"matchLabels": "map", "matchExpressions": "[]Requirement"},
    "Requirement": {"key": "string", "operator": "string", "values": "[]string"},
    "Target": {"type": "string", "value": "quantity", "averageValue": "quantity", "averageUtilization": "int32"},
    "Behavior": {"scaleUp": "ScalingRules", "scaleDown": "ScalingRules"},
    "ScalingRules": {
        "stabilizationWindowSeconds": "int32", "selectPolicy": "string", "policies": "[]Policy",
        "tolerance": "quantity",
    },
    "Policy": {"type": "string", "value": "int32", "periodSeconds": "int32"},
    "Status": {
        "observedGeneration": "int64", "lastScaleTime": "time", "currentReplicas": "int32", "desiredReplicas": "int32",
        "currentMetrics": "[]MetricStatus", "conditions": "[]Condition",
    },
    "MetricStatus": {
        "type": "string", "object": "ObjectStatus", "pods": "IdentifiedStatus", "resource": "ResourceStatus",
        "containerResource": "ContainerResourceStatus", "external": "IdentifiedStatus",
    },
    "ObjectStatus": {"metric": "Identifier", "current": "Current", "describedObject": "ObjectReference"},
    "IdentifiedStatus": {"metric": "Identifier", "current": "Current"},
    "ResourceStatus": {"name": "string", "current": "Current"},
    "ContainerResourceStatus": {"name": "string", "current": "Current", "container": "string"},
    "Current": {"value": "quantity", "averageValue": "quantity", "averageUtilization": "int32"},
    "Condition": {
        "type": "string", "status": "string", "lastTransitionTime": "time", "reason": "string", "message": "string",
    },
}  # fmt: skip

_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:[.,]\d+)?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_RANGES = {"int32": (MIN32, MAX32), "int64": (MIN64, MAX64)}
_WORDS = {"string": "text", "map": "a mapping of text to text", "bool": "true or false", "quantity": "a quantity"}


def decode(value: object, kind: str, path: Path = ()) -> Iterator[Finding]:
    """All that strict decoding of a value as one of the kinds above would refuse."""
    if value is None or kind == "any":
        return
    if kind in STRUCTS:
        yield from _struct(value, kind, path)
    elif kind.startswith("[]"):
        if not isinstance(value, list):
            yield _wrong(path, "a list", value)
            return
        for index, element in enumerate(value):
            yield from decode(element, kind[2:], (*path, index))
    elif kind == "map":
        if not isinstance(value, dict):
            yield _wrong(path, _WORDS[kind], value)
            return
        for key, element in value.items():
            yield from decode(element, "string", (*path, key))
    elif kind in _RANGES:
        yield from _integer(value, kind, path)
    elif kind == "time":
        if not isinstance(value, str) or not _is_time(value):
            yield _wrong(path, "a time as RFC 3339 has it", value)
    elif kind == "quantity":
        yield from _quantity(value, path)
    elif not isinstance(value, str if kind == "string" else bool):
        yield _wrong(path, _WORDS[kind], value)


def _is_time(text: str) -> bool:
    match = _TIME.fullmatch(text)
    try:
        return match is not None and datetime.fromisoformat(match.group(1)) is not None
    except ValueError:
        return False


def _struct(value: object, kind: str, path: Path) -> Iterator[Finding]:
    fields = STRUCTS[kind]
    if not isinstance(value, dict):
        yield _wrong(path, "a mapping", value)
        return
    for key, element in value.items():
        if key in fields:
            yield from decode(element, fields[key], (*path, key))
            continue
        near = next((name for name in fields if name.lower() == key.lower()), None)
        fix = f'write "{near}"' if near else f"remove it; known are {', '.join(fields)}"
        yield Finding((*path, key), "unknown-field", f'unknown field "{dotted((*path, key))}"', fix, at_key=True)


def integer_of(value: object) -> int | None:
    """The whole number a JSON reader sees: 3.0 written in YAML reaches the API server as 3."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not (value.is_integer() and abs(value) < 1e21):
        return None
    return int(value)


def _integer(value: object, kind: str, path: Path) -> Iterator[Finding]:
    number = integer_of(value)
    low, high = _RANGES[kind]
    if number is None:
        yield _wrong(path, f"a whole number ({kind})", value)
    elif not low <= number <= high:
        yield _wrong(path, f"a whole number in {low}..{high}", value)


def quantity_text(value: object) -> str:
    """The text of a quantity written as a string or a number."""
    if isinstance(value, float):
        return repr(value)
    return str(value)


def _quantity(value: object, path: Path) -> Iterator[Finding]:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        yield _wrong(path, _WORDS["quantity"], value)
        return
    try:
        parse(quantity_text(value))
    except QuantityError as error:
        yield Finding(path, "quantity", f"{dotted(path)}: {error}", "write e.g. 2, 500m, 1.5k or 80Gi")


def _wrong(path: Path, expected: str, value: object) -> Finding:
    shown = f'"{value}"' if isinstance(value, str) else value
    if isinstance(value, dict | list):
        shown = "a mapping" if isinstance(value, dict) else "a list"
    return Finding(path, "wrong-type", f"{dotted(path)} is {shown}, it must be {expected}", f"write {expected}")
