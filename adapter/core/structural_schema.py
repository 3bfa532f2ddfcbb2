"""A structural schema, as a CustomResourceDefinition takes it, made from a JSON Schema.

Kubernetes takes less than JSON Schema has: no references, no unions of types, no `const`, no `propertyNames`. What it
cannot say is left open and judged by the adapter, which writes its verdict into the object's status. No default is
written: the API server would put it into the object, and a later default would never reach that policy.

Unknown keys are kept (`x-kubernetes-preserve-unknown-fields`). An API server drops what a schema does not name, without
a word to any client that did not ask for a strict look, and another policy than the one that was written would be in
force. Kept, an unknown key reaches the adapter, which refuses it by name.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Node = dict[str, Any]

KEEPS_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_RULES = ("minLength", "maxLength", "pattern", "minItems", "maxItems", "minProperties", "maxProperties")
MAX_DEPTH = 32


def structural(schema: Node) -> Node:
    """The structural schema of a JSON Schema that has its definitions under `$defs`."""
    return _node(schema, schema.get("$defs", {}), 0)


def _node(written: Node, definitions: Mapping[str, Node], depth: int) -> Node:
    if depth > MAX_DEPTH:
        raise ValueError("the schema refers to itself, which a structural schema cannot")
    schema = _resolved(written, definitions)
    ways = _ways(schema, definitions)
    described: Node = {"description": schema["description"]} if "description" in schema else {}
    if ways and all(way.get("type") == "object" and "properties" in way for way in ways):
        return {**described, **_one_of_objects(ways, definitions, depth)}
    if ways:
        return {**described, **_one_of_forms(ways)}
    kind = schema.get("type")
    if kind == "object":
        return {**described, **_object(schema, definitions, depth)}
    if kind == "array":
        return {**described, "type": "array", "items": _node(schema["items"], definitions, depth + 1), **_rules(schema)}
    if kind in ("string", "number", "integer", "boolean"):
        return {**described, "type": kind, **_rules(schema)}
    return {**described, KEEPS_UNKNOWN: True}


def _resolved(written: Node, definitions: Mapping[str, Node]) -> Node:
    """The node with what it refers to; its own words stand before those of the definition."""
    reference = written.get("$ref")
    if reference is None:
        return written
    rest = {key: value for key, value in written.items() if key != "$ref"}
    return {**_resolved(definitions[str(reference).rpartition("/")[2]], definitions), **rest}


def _ways(schema: Node, definitions: Mapping[str, Node]) -> list[Node]:
    """The forms of a union, those of unions within it among them; none for an object that only says what it needs."""
    if "properties" in schema:
        return []
    found = []
    for way in schema.get("anyOf") or schema.get("oneOf") or ():
        inner = _resolved(way, definitions)
        found += _ways(inner, definitions) or [inner]
    return found


def _object(schema: Node, definitions: Mapping[str, Node], depth: int) -> Node:
    found: Node = {"type": "object", **_rules(schema)}
    properties = schema.get("properties")
    if properties:
        found["properties"] = {key: _node(one, definitions, depth + 1) for key, one in properties.items()}
        found[KEEPS_UNKNOWN] = True
        found.update({key: schema[key] for key in ("required", "oneOf", "anyOf") if key in schema})
        return found
    values = schema.get("additionalProperties")
    if isinstance(values, dict) and values:
        found["additionalProperties"] = _node(values, definitions, depth + 1)
    else:
        found[KEEPS_UNKNOWN] = True
    return found


def _one_of_objects(ways: Sequence[Node], definitions: Mapping[str, Node], depth: int) -> Node:
    """One object with the keys of all forms; exactly one of the keys that name a form, and what that form needs.

    The key that names a form is the first that it requires: `query` of {query, unit}. That one of them stands there is
    a rule in CEL, for the sake of its message: a `oneOf` tells what is missing for the form that was not meant.
    """
    properties: Node = {}
    for way in ways:
        for key, one in way["properties"].items():
            made = _node(one, definitions, depth + 1)
            before = properties.setdefault(key, made)
            if _wordless(before) != _wordless(made):
                properties[key] = {KEEPS_UNKNOWN: True}
    found: Node = {"type": "object", "properties": properties, KEEPS_UNKNOWN: True}
    needed = [list(way.get("required", ())) for way in ways]
    names = [keys[0] for keys in needed if keys]
    if len(names) == len(ways):
        there = ", ".join(f"has(self.{name})" for name in names)
        rule = f"[{there}].filter(one, one).size() == 1"
        found["x-kubernetes-validations"] = [{"rule": rule, "message": f"name exactly one of {', '.join(names)}"}]
    more = [{"anyOf": [{"required": keys[1:]}, {"not": {"required": keys[:1]}}]} for keys in needed if len(keys) > 1]
    return {**found, "allOf": more} if more else found


def _wordless(node: Node) -> Node:
    return {key: value for key, value in node.items() if key != "description"}


def _one_of_forms(ways: Sequence[Node]) -> Node:
    """A value of several types: none is demanded, but a text has to be one of the texts, a number within the limits.

    JSON Schema's rules for texts say nothing of numbers and the other way round, so both can stand side by side.
    """
    found: Node = {KEEPS_UNKNOWN: True}
    texts = [way for way in ways if way.get("type") == "string" or "enum" in way]
    patterns = [_pattern(way) for way in texts]
    if texts and all(patterns):
        found["pattern"] = "|".join(f"(?:{pattern})" for pattern in patterns if pattern)
    numbers = [_number_rules(way) for way in ways if way.get("type") in ("number", "integer")]
    if len(numbers) == 1:
        found.update(numbers[0])
    return found


def _pattern(way: Node) -> str | None:
    if "enum" in way:
        return f"^({'|'.join(str(one) for one in way['enum'])})$"
    pattern = way.get("pattern")
    return str(pattern) if pattern else None


def _rules(schema: Node) -> Node:
    found = {key: schema[key] for key in _RULES if key in schema}
    if "const" in schema:
        found["enum"] = [schema["const"]]
    elif "enum" in schema:
        found["enum"] = list(schema["enum"])
    return {**found, **_number_rules(schema)}


def _number_rules(schema: Node) -> Node:
    """Limits in OpenAPI's older form, where `exclusive` is a word beside the limit."""
    found: Node = {key: schema[key] for key in ("minimum", "maximum") if key in schema}
    for exclusive, limit in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if exclusive in schema:
            found[limit], found[exclusive] = schema[exclusive], True
    return found
