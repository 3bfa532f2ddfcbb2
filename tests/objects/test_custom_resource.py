"""The CustomResourceDefinition: what becomes of a JSON Schema where Kubernetes has no words for it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from adapter_process import SCALEPROOF

from adapter.core.structural_schema import KEEPS_UNKNOWN, structural

MANIFEST = Path(__file__).parents[2] / "manifests/base/crd.yaml"
CRD = yaml.safe_load(MANIFEST.read_text())
(VERSION,) = CRD["spec"]["versions"]
SCHEMA = VERSION["schema"]["openAPIV3Schema"]
SPEC = SCHEMA["properties"]["spec"]


def nodes(node: Any) -> Iterator[dict[str, Any]]:
    """Every schema within a schema, itself first."""
    yield node
    for one in node.get("properties", {}).values():
        yield from nodes(one)
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            yield from nodes(node[key])


def test_the_manifest_is_what_the_command_writes() -> None:
    command = [SCALEPROOF, "schema", "--output", "crd"]
    written = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout
    assert written == MANIFEST.read_text(), "run make generated"


def test_every_object_of_the_spec_keeps_keys_that_it_does_not_know() -> None:
    """What is dropped cannot be told: the adapter would run another policy than the one that was written."""
    with_keys = [one for one in nodes(SPEC) if "properties" in one]
    assert len(with_keys) > 20
    assert [one for one in with_keys if one.get(KEEPS_UNKNOWN) is not True] == []
    assert SCHEMA[KEEPS_UNKNOWN] is True


def test_no_default_is_written_into_objects() -> None:
    assert [one for one in nodes(SCHEMA) if "default" in one] == []


def test_it_fits_into_the_annotation_that_kubectl_apply_keeps_of_it() -> None:
    """262,144 bytes for all annotations of an object; above it `kubectl apply` fails."""
    assert MANIFEST.stat().st_size < 200_000


def test_the_columns_ask_for_what_the_status_has() -> None:
    names = [(column["name"], column["jsonPath"]) for column in VERSION["additionalPrinterColumns"]]
    assert names[:6] == [
        ("Value", ".status.value"),
        ("Replicas", ".status.replicas"),
        ("Metric", ".spec.publish.metric"),
        ("Accepted", '.status.conditions[?(@.type=="Accepted")].status'),
        ("Signal", '.status.conditions[?(@.type=="Active")].reason'),
        ("Age", ".metadata.creationTimestamp"),
    ]
    status = SCHEMA["properties"]["status"]["properties"]
    assert {"value", "replicas", "conditions", "observedGeneration", "decidedBy", "lastEvaluationTime"} <= set(status)
    assert VERSION["subresources"] == {"status": {}}


def test_every_field_says_what_it_is_for() -> None:
    """`kubectl explain` shows it."""
    silent = [
        name
        for one in nodes(SPEC)
        for name, field in one.get("properties", {}).items()
        if "description" not in field and field != {KEEPS_UNKNOWN: True}
    ]
    assert silent == []


TEXT = {"type": "string", "pattern": "^[0-9]+%$"}
NUMBER = {"type": "number", "exclusiveMinimum": 0}
BOTH = {"type": "object", "properties": {"up": NUMBER}, "required": ["up"], "additionalProperties": False}
KINDS = {
    "limits": (NUMBER, {"type": "number", "minimum": 0, "exclusiveMinimum": True}),
    "upper-limit": (
        {"type": "number", "maximum": 1, "exclusiveMaximum": 2},
        {"type": "number", "maximum": 2, "exclusiveMaximum": True},
    ),
    "const": ({"type": "string", "const": "a"}, {"type": "string", "enum": ["a"]}),
    "text-or-number": (
        {"anyOf": [TEXT, NUMBER], "description": "d", "default": 1},
        {"description": "d", KEEPS_UNKNOWN: True, "pattern": "(?:^[0-9]+%$)", "minimum": 0, "exclusiveMinimum": True},
    ),
    "text-of-two-forms": (
        {"anyOf": [TEXT, {"enum": ["max", "min"]}, BOTH]},
        {KEEPS_UNKNOWN: True, "pattern": "(?:^[0-9]+%$)|(?:^(max|min)$)"},
    ),
    "any-text-or-number": ({"anyOf": [{"type": "string"}, {"type": "number"}]}, {KEEPS_UNKNOWN: True}),
    "union-in-union": (
        {"anyOf": [{"anyOf": [TEXT, NUMBER]}, BOTH]},
        {KEEPS_UNKNOWN: True, "pattern": "(?:^[0-9]+%$)", "minimum": 0, "exclusiveMinimum": True},
    ),
    "map": (
        {"type": "object", "propertyNames": {"pattern": "x"}, "additionalProperties": TEXT, "maxProperties": 3},
        {"type": "object", "maxProperties": 3, "additionalProperties": TEXT},
    ),
    "anything": ({}, {KEEPS_UNKNOWN: True}),
    "reference": (
        {"$ref": "#/$defs/A", "description": "mine", "$defs": {"A": {"type": "boolean", "description": "its"}}},
        {"description": "mine", "type": "boolean"},
    ),
    "exactly-one": (
        {**BOTH, "oneOf": [{"required": ["up"]}]},
        {
            "type": "object",
            "properties": {"up": {"type": "number", "minimum": 0, "exclusiveMinimum": True}},
            KEEPS_UNKNOWN: True,
            "required": ["up"],
            "oneOf": [{"required": ["up"]}],
        },
    ),
}


@pytest.mark.parametrize(("written", "expected"), KINDS.values(), ids=KINDS.keys())
def test_what_has_no_word_in_kubernetes_is_said_another_way_or_left_open(written: dict, expected: dict) -> None:
    assert structural(written) == expected


def test_a_union_of_objects_becomes_one_object_with_what_each_form_needs() -> None:
    flag, text = {"type": "boolean"}, {"type": "string"}
    one = {"type": "object", "properties": {"a": text, "c": text, "d": text}, "required": ["a"]}
    two = {"type": "object", "properties": {"b": text, "c": flag, "d": text}, "required": ["b", "d"]}
    made = structural({"oneOf": [one, two]})
    assert made["properties"] == {"a": text, "b": text, "c": {KEEPS_UNKNOWN: True}, "d": text}
    (rule,) = made["x-kubernetes-validations"]
    assert rule["message"] == "name exactly one of a, b"
    assert made["allOf"] == [{"anyOf": [{"required": ["d"]}, {"not": {"required": ["b"]}}]}]


def test_a_schema_that_refers_to_itself_is_refused() -> None:
    node = {"type": "array", "items": {"$ref": "#/$defs/A"}}
    with pytest.raises(ValueError, match="refers to itself"):
        structural({"$ref": "#/$defs/A", "$defs": {"A": node}})
