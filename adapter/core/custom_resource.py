"""The CustomResourceDefinition of a ScalingPolicy: the schema of its spec from the models, its status and its columns.

The document of an object is that of a file, so both have one language; only what the adapter answers (`status`) stands
here.
"""

from typing import Any

from adapter.core.policy import API_VERSION, KIND
from adapter.core.policy_schema import policy_schema
from adapter.core.structural_schema import KEEPS_UNKNOWN, structural

GROUP, _, VERSION = API_VERSION.partition("/")
PLURAL = "scalingpolicies"
SHORT_NAME = "spol"

Node = dict[str, Any]


def custom_resource_definition() -> Node:
    """The manifest that an API server takes."""
    policy = structural(policy_schema())
    schema: Node = {
        "description": "How many replicas a workload needs, from what Prometheus says of it.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": policy["properties"]["spec"],
            "status": _STATUS,
        },
        KEEPS_UNKNOWN: True,
    }
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
        "additionalPrinterColumns": _COLUMNS,
    }
    names = {
        "plural": PLURAL,
        "singular": KIND.lower(),
        "kind": KIND,
        "listKind": f"{KIND}List",
        "shortNames": [SHORT_NAME],
        "categories": ["scaling"],
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


def _column(name: str, path: str, description: str, kind: str = "string", priority: int = 0) -> Node:
    column: Node = {"name": name, "type": kind, "jsonPath": path, "description": description}
    return {**column, "priority": priority} if priority else column


def _condition(kind: str, key: str) -> str:
    return f'.status.conditions[?(@.type=="{kind}")].{key}'


_COLUMNS = [
    _column("Value", ".status.value", "What the HPA gets."),
    _column("Replicas", ".status.replicas", "Replicas that the workload has (N).", "integer"),
    _column("Metric", ".spec.publish.metric", "The name that the HPA asks for."),
    _column("Accepted", _condition("Accepted", "status"), "Whether the document is in force."),
    _column("Signal", _condition("Active", "reason"), "Signal, or why there is none."),
    _column("Age", ".metadata.creationTimestamp", "Time since it was made.", "date"),
    _column("Problem", _condition("Accepted", "message"), "What is wrong with the document.", priority=1),
    _column("Message", _condition("Active", "message"), "What the signal says of itself.", priority=1),
]

_CONDITION: Node = {
    "type": "object",
    "required": ["type", "status", "reason", "message", "lastTransitionTime"],
    "properties": {
        "type": {"type": "string", "description": "Accepted or Active."},
        "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
        "reason": {"type": "string", "maxLength": 1024, "description": "One word for machines."},
        "message": {"type": "string", "maxLength": 32768, "description": "The same for people."},
        "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
    },
}

_STATUS: Node = {
    "description": "What the adapter makes of the policy; written by it alone.",
    "type": "object",
    "properties": {
        "observedGeneration": {
            "type": "integer",
            "format": "int64",
            "description": "Generation of the spec that this status is about.",
        },
        "conditions": {
            "type": "array",
            "maxItems": 8,
            "items": _CONDITION,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["type"],
            "description": (
                "Accepted: whether the document is in force, with what is wrong and where. "
                "Active: whether there is a signal, with its value, or the reason why there is none."
            ),
        },
        "value": {"type": "string", "description": "What the HPA gets, as a quantity; none where there is no signal."},
        "replicas": {"type": "integer", "format": "int64", "description": "Replicas that the workload has (N)."},
        "decidedBy": {"type": "string", "description": "The term or step that made the value."},
        "lastEvaluationTime": {
            "type": "string",
            "format": "date-time",
            "description": "Instant of the evaluation that is shown; it moves only when what is shown does.",
        },
        "inForce": {
            "type": "object",
            "description": (
                "The last accepted spec, kept while the one that was written since is refused, so that "
                "an adapter that starts anew goes on with it."
            ),
            "properties": {
                "generation": {"type": "integer", "format": "int64"},
                "spec": {"type": "object", KEEPS_UNKNOWN: True, "x-kubernetes-map-type": "atomic"},
            },
        },
    },
}
