"""Combining: the demands of several terms as one, on each coordinate by itself.

A term that is missing asks for nothing (U = 0) and bounds nothing (D = ∞); every rule here keeps that: the largest of
bounds and a sum with an infinite one are infinite, a weighted mean too, and of a minimum the known ones remain.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum, inf, isinf

from adapter.core.expressions import Expression

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class CombinePlan:
    """How terms combine: by name, by weights, or by an expression over their names."""

    rule: str = "max"
    weights: Mapping[str, float] = field(default_factory=dict)
    expression: Expression | None = None

    @property
    def text(self) -> str:
        """The rule's words for the account."""
        return self.expression.text if self.expression is not None else self.rule


def combine(plan: CombinePlan, demands: Mapping[str, Interval]) -> Interval:
    """U and D of all terms together, D at least U."""
    ups = {name: up for name, (up, _) in demands.items()}
    downs = {name: down for name, (_, down) in demands.items()}
    up = _one(plan, ups, missing=0.0)
    return up, max(up, _one(plan, downs, missing=inf))


def _one(plan: CombinePlan, values: Mapping[str, float], missing: float) -> float:
    if plan.expression is not None:
        return _expressed(plan.expression, values, missing)
    if not values:
        return 0.0
    match plan.rule:
        case "max":
            return max(values.values())
        case "min":
            return min(values.values())
        case "sum":
            return fsum(values.values())
        case "weighted":
            weighed = [(plan.weights[name], value) for name, value in values.items() if name in plan.weights]
            return fsum(weight * value for weight, value in weighed) / fsum(weight for weight, _ in weighed)
        case other:
            raise ValueError(f"no rule to combine by {other}")


def _expressed(expression: Expression, values: Mapping[str, float], missing: float) -> float:
    if any(isinf(values.get(name, 0.0)) for name in expression.names):
        return inf
    result = expression.evaluate({name.replace("-", "_"): value for name, value in values.items()})
    return max(0.0, result) if isinstance(result, float) else missing
