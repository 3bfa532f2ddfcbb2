"""Written forms: how the values of a policy are written, as fragments of JSON Schema for editors.

The readers in units decide; these say the same to an editor, with the allowed range in words. A fragment is narrower
than its reader where that helps: a number in quotes is read, and not offered.
"""

from typing import Any

from pydantic import WithJsonSchema

ALLOWED = "x-allowed"
"""Key of a fragment under which the range stands in words; it goes into the description."""

_DURATION = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h|d))+$"
_SHARE = r"^[0-9]+(\.[0-9]+)?\s*%$"
_RATE = r"^[0-9.eE+-]+\s*/\s*(s|m|h)$"

Fragment = dict[str, Any]


def duration_form(allowed: str, *, zero: bool = False) -> Fragment:
    """A duration such as 15s or 1h30m; a bare 0 where no time at all is allowed."""
    text: Fragment = {"type": "string", "pattern": _DURATION}
    return {"anyOf": [text, {"const": 0}], ALLOWED: allowed} if zero else {**text, ALLOWED: allowed}


def share_form(allowed: str = "a share above 0, e.g. 80% or 0.8") -> Fragment:
    """A share of one: 80% or 0.8."""
    number: Fragment = {"type": "number", "minimum": 0, "maximum": 1}
    return {"anyOf": [{"type": "string", "pattern": _SHARE}, number], ALLOWED: allowed}


def rate_form(allowed: str = "a rate above 0, e.g. 4.4/s") -> Fragment:
    """Events per second: 4.4/s, 264/m or 4.4."""
    number: Fragment = {"type": "number", "exclusiveMinimum": 0}
    return {"anyOf": [{"type": "string", "pattern": _RATE}, number], ALLOWED: allowed}


def number_form(allowed: str, **limits: float) -> Fragment:
    """A number with JSON Schema's own limits."""
    return {"type": "number", **limits, ALLOWED: allowed}


def directed_form(one: Fragment) -> Fragment:
    """One value for both directions, or one for each."""
    both: Fragment = {
        "type": "object",
        "properties": {"up": one, "down": one},
        "required": ["up", "down"],
        "additionalProperties": False,
    }
    return {"anyOf": [one, both], ALLOWED: f"{one[ALLOWED]}, or {{up, down}} with down at most up"}


def text_form(pattern: str, allowed: str) -> Fragment:
    """A text that matches a pattern as a whole."""
    return {"type": "string", "pattern": f"^(?:{pattern})$", ALLOWED: allowed}


def written(fragment: Fragment) -> WithJsonSchema:
    """The fragment as the annotation of a field's type."""
    return WithJsonSchema(fragment)
