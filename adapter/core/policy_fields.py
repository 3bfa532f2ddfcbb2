"""Field types that the parts of the policy document share: durations, shares, names, and the strict model.

Ranges stand here, words about what they mean stand with the fields that use them.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict

from adapter.core.refusals import Refusal, between, positive, refuse
from adapter.core.units import parse_duration, parse_number, parse_rate, parse_share
from adapter.core.written_forms import (
    directed_form,
    duration_form,
    number_form,
    rate_form,
    share_form,
    text_form,
    written,
)


def _span(low: float, high: float, allowed: str) -> Any:
    return between(parse_duration, low, high, allowed)


Every = Annotated[float, _span(1, 3600, "a duration from 1s to 1h"), written(duration_form("a duration from 1s to 1h"))]
Memory = Annotated[
    float, _span(1, 86_400, "a duration from 1s to 24h"), written(duration_form("a duration from 1s to 24h"))
]
Wait = Annotated[
    float, _span(0, 3600, "a duration from 0 to 1h"), written(duration_form("a duration from 0 to 1h", zero=True))
]
Span = Annotated[
    float,
    _span(0.001, 86_400, "a duration above 0, at most 24h"),
    written(duration_form("a duration above 0, at most 24h")),
]
Share = Annotated[float, positive(parse_share, "a share above 0, e.g. 80%"), written(share_form())]
Rate = Annotated[float, positive(parse_rate, "a rate above 0, e.g. 4.4/s"), written(rate_form())]
Number = Annotated[
    float,
    positive(parse_number, "a number above 0"),
    written(number_form("a number above 0", exclusiveMinimum=0)),
]
NotNegative = Annotated[
    float, between(parse_number, 0, 1e15, "a number from 0"), written(number_form("a number from 0", minimum=0))
]

Fraction = Annotated[
    float,
    between(parse_number, 0, 1, "a number from 0 to 1"),
    written(number_form("a number from 0 to 1", minimum=0, maximum=1)),
]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_METRIC = re.compile(r"[A-Za-z0-9_.:|-]{1,253}")
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]{0,127}")
_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_-]{0,62}")


class Model(BaseModel):
    """Strict and frozen: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


def _matching(pattern: re.Pattern[str], what: str) -> Any:
    def check(value: object) -> str:
        if not isinstance(value, str) or not pattern.fullmatch(value):
            raise refuse("name-invalid", f'"{value}" is not {what}')
        return value

    return Refusal(check)


Label = Annotated[
    str,
    _matching(_LABEL, "a Prometheus label name (letters, digits and _)"),
    written(text_form(_LABEL.pattern, "a label name (letters, digits and _)")),
]
InputName = Annotated[
    str,
    _matching(_IDENTIFIER, "a name of an input (letters, digits, _ and -)"),
    written(text_form(_IDENTIFIER.pattern, "a name (letters, digits, _ and -)")),
]
SourceName = Annotated[
    str,
    _matching(_NAMESPACE, "a name of a source (lower-case letters, digits and -)"),
    written(text_form(_NAMESPACE.pattern, "a name of a source (lower-case letters, digits and -)")),
]
KubernetesName = Annotated[
    str,
    _matching(_NAME, "a Kubernetes name (lower-case letters, digits, - and .)"),
    written(text_form(_NAME.pattern, "a name (lower-case letters, digits, - and .)")),
]
KubernetesNamespace = Annotated[
    str,
    _matching(_NAMESPACE, "a Kubernetes namespace (lower-case letters, digits and -)"),
    written(text_form(_NAMESPACE.pattern, "a namespace (lower-case letters, digits and -)")),
]
MetricName = Annotated[
    str,
    _matching(_METRIC, "a metric name (letters, digits and _ . : | -, at most 253)"),
    written(text_form(_METRIC.pattern, "a metric name (letters, digits and _ . : | -, at most 253)")),
]


@dataclass(frozen=True, slots=True)
class Directed:
    """A value for each direction: `up` makes U, `down` makes D."""

    up: float
    down: float


def directed(parse: Callable[[object], float], allowed: str) -> Any:
    """One value for both directions, or {up, down}, both above 0, down at most up."""

    def check(value: object) -> Directed:
        if isinstance(value, Directed):
            return value
        pair = value if isinstance(value, dict) else {"up": value, "down": value}
        if set(pair) != {"up", "down"}:
            raise refuse(
                "two-targets", "two targets are written as up and down, both of them", "e.g. {up: 70%, down: 60%}"
            )
        up, down = parse(pair["up"]), parse(pair["down"])
        for shown, number in ((pair["up"], up), (pair["down"], down)):
            if not number > 0:
                raise refuse("value-range", f"{shown} must be greater than 0", f"write {allowed}")
        if down > up:
            message = f"down {down:g} is above up {up:g}, so replicas would go and come in turn"
            raise refuse("two-targets", message, "write a target for going down that is at most the one for going up")
        return Directed(up, down)

    return Refusal(check)


DirectedShare = Annotated[
    Directed, directed(parse_share, "a share above 0, e.g. 80%"), written(directed_form(share_form()))
]
DirectedNumber = Annotated[
    Directed,
    directed(parse_number, "a number above 0"),
    written(directed_form(number_form("a number above 0", exclusiveMinimum=0))),
]
