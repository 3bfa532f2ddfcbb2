"""The JSON Schema of a policy, made from the models, so that an editor completes and validates as `check` does.

What pydantic says of the models is put into the form in which people write: durations as text, no null, short forms of
unions, exactly-one rules. Narrower than `check` in places (a number in quotes is read and not offered), never wider in
what it can say; names that nothing defines and sums of bounds are for `check` alone.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from adapter.core.policy import Policy
from adapter.core.units import show_duration
from adapter.core.written_forms import ALLOWED

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Node = dict[str, Any]

_EXACTLY_ONE: Mapping[str, Sequence[Sequence[str]]] = {
    "Guard": (("hold_scale_down",), ("hold_scale_up",)),
    "Hold": (("after",), ("when",), ("alert",)),
    "Combine": (("weighted",), ("expression",)),
    "WindowShape": (("window", "take"), ("sustained",)),
}
_AT_LEAST_ONE: Mapping[str, Sequence[str]] = {"Schedule": ("floor", "ceiling")}


def policy_schema(inputs: Sequence[str] = (), replicas: Sequence[str] = ()) -> Node:
    """The schema; with names of presets these are offered, and no others accepted."""
    described = _without_allowed(described_schema(inputs, replicas))
    return {"$schema": DIALECT, **described} if isinstance(described, dict) else {}


def described_schema(inputs: Sequence[str] = (), replicas: Sequence[str] = ()) -> Node:
    """The schema with allowed ranges in words beside each field, for the reference."""
    schema: Node = _tidied(Policy.model_json_schema(by_alias=True))
    definitions = schema["$defs"]
    for name, ways in _EXACTLY_ONE.items():
        definitions[name]["oneOf"] = [{"required": list(keys)} for keys in ways]
    for name, keys in _AT_LEAST_ONE.items():
        definitions[name]["anyOf"] = [{"required": [key]} for key in keys]
    definitions["MissingRule"] = _missing_rule(definitions["MissingRule"])
    by = definitions["Spec"]["properties"]["by"]
    values = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]}
    labels = by.get("propertyNames", {})
    by_words = {"description": by["description"]}
    definitions["Spec"]["properties"]["by"] = {
        **by_words,
        "anyOf": [
            {"type": "array", "items": {"type": "string", **labels}},
            {"type": "object", "propertyNames": labels, "additionalProperties": values},
        ],
        ALLOWED: "a list of labels, or {label: [value, value]}",
    }
    for name, known in (("PresetInput", inputs), ("ReplicasPreset", replicas)):
        if known:
            definitions[name]["properties"]["preset"]["enum"] = list(known)
    schema["title"] = "ScalingPolicy"
    return schema


def _missing_rule(model: Node) -> Node:
    """The four forms: a word, or the rule's own key."""
    properties = model["properties"]
    allowed = {"scale_down": properties["scale_down"]}
    forms: list[Node] = [{"enum": ["rise_only", "error"]}]
    forms += [
        {
            "type": "object",
            "properties": {key: properties[key], **allowed},
            "required": [key],
            "additionalProperties": False,
        }
        for key in ("hold", "assume")
    ]
    return {"description": model["description"], "anyOf": forms, "default": "rise_only"}


def _tidied(node: Any, *, is_properties: bool = False) -> Any:
    if isinstance(node, list):
        return [_tidied(one) for one in node]
    if not isinstance(node, dict):
        return node
    if is_properties:
        return {key: _tidied(value) for key, value in node.items()}
    found: Node = {}
    for key, value in node.items():
        if key == "title":
            continue  # pydantic's titles are the keys again
        found[key] = value if key == "default" else _tidied(value, is_properties=key in ("properties", "$defs"))
    return _keys(_default(_without_null(found)))


def _without_null(node: Node) -> Node:
    """A key that is left out is not written as null."""
    ways = node.get("anyOf")
    if not isinstance(ways, list) or {"type": "null"} not in ways:
        return node
    rest = [way for way in ways if way != {"type": "null"}]
    others = {key: value for key, value in node.items() if key != "anyOf"}
    if len(rest) > 1:
        return {**others, "anyOf": rest}
    # The field's own words stand before those of its type.
    return {**rest[0], **others} if "$ref" not in rest[0] else {**others, **rest[0]}


def _default(node: Node) -> Node:
    """The default as it would be written, left out where it is nothing."""
    if "default" not in node:
        return node
    value = node["default"]
    rest = {key: one for key, one in node.items() if key != "default"}
    if isinstance(value, dict):
        if set(value) == {"up", "down"} and value["up"] is not None:
            return {**rest, "default": value["up"]}
        return {**rest, "default": "rise_only"} if value.get("action") == "rise_only" else rest
    if value is None or value in ([], ""):
        return rest
    is_duration = "duration" in str(node.get(ALLOWED, ""))
    return {**rest, "default": show_duration(value) if is_duration else value}


def _keys(node: Node) -> Node:
    """Keys that do not match a pattern are refused, as `check` refuses them."""
    patterns = node.get("patternProperties")
    if not isinstance(patterns, dict) or len(patterns) != 1:
        return node
    ((pattern, value),) = patterns.items()
    rest = {key: one for key, one in node.items() if key not in ("patternProperties", "propertyNames")}
    return {**rest, "propertyNames": {"pattern": pattern}, "additionalProperties": value}


def _without_allowed(node: Any) -> Any:
    """The allowed range as a part of the description, which is what editors show."""
    if isinstance(node, list):
        return [_without_allowed(one) for one in node]
    if not isinstance(node, dict):
        return node
    found = {key: _without_allowed(value) for key, value in node.items() if key != ALLOWED}
    words = node.get(ALLOWED)
    if isinstance(words, str):
        said = str(node.get("description", "")).rstrip(".")
        found["description"] = f"{said}: {words}." if said else f"{words[0].upper()}{words[1:]}."
    return found
