"""Demand: what each term asks for, as an interval of replicas [U, D].

U replicas at least are needed, no more than D can be justified. Every term is a sum over pods, divided by what one
replica takes: Σ max(0, value - base) ÷ divisor. Where data is missing U keeps what is known and D grows by what could
be hidden, so that losing data can never scale down.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, inf

from adapter.core.coverage import Coverage
from adapter.core.expressions import Expression
from adapter.core.reasons import Missing
from adapter.core.shaping import ShapePlan

BOUND_SLACK = 1.05
"""A value above its bound by more than this is a unit mistaken, not a measurement."""


@dataclass(frozen=True, slots=True)
class Component:
    """One input's part of a term: Σ max(0, value - base) ÷ divisor, a pod hiding at most `bound` - base."""

    input: str
    divisor_up: float
    divisor_down: float
    text: str
    base: float = 0.0
    bound: float | None = None

    def amount(self, value: float) -> float:
        """What one pod's value adds."""
        return max(0.0, value - self.base)

    @property
    def hidden(self) -> float:
        """What one pod that does not report may add at most."""
        return inf if self.bound is None else self.bound - self.base


@dataclass(frozen=True, slots=True)
class LatencyRule:
    """Ready replicas times percentile over objective, at most one step a period (seconds), upwards only."""

    input: str
    objective: float
    max_step: float
    period: float


@dataclass(frozen=True, slots=True)
class TermPlan:
    """A term as the components whose demands add up, or a latency rule, or expressions for U and D."""

    name: str
    kind: str
    components: tuple[Component, ...] = ()
    when: Expression | None = None
    latency: LatencyRule | None = None
    numbers: tuple[Expression, Expression] | None = None
    inputs: tuple[str, ...] = ()
    shape: ShapePlan | None = None


@dataclass(frozen=True, slots=True)
class Contribution:
    """One component's totals and demand: [up, down] in replicas, [low, high] in the input's own unit."""

    component: Component
    low: float
    high: float
    has_data: bool
    is_complete: bool
    as_of: float | None
    missing: Missing | None
    is_held: bool = False
    text: str = ""

    @property
    def up(self) -> float:
        """U: what is needed at least."""
        return self.low / self.component.divisor_up

    @property
    def down(self) -> float:
        """D: what can be justified at most."""
        return self.high / self.component.divisor_down


def contribute(component: Component, covered: Coverage) -> Contribution:
    """The contribution of what was read, before any rule for missing data."""
    known = fsum(component.amount(measured.value) for measured in covered.values)
    has_values = bool(covered.values) or covered.is_complete
    hidden = 0.0 if covered.is_complete else covered.missing_pods * component.hidden
    return Contribution(
        component=component,
        low=known,
        high=known + hidden if has_values else inf,
        has_data=has_values,
        is_complete=covered.is_complete,
        as_of=min((measured.time for measured in covered.values), default=None),
        missing=covered.missing,
    )


def add_up(contributions: Sequence[Contribution]) -> tuple[float, float]:
    """The demand interval of a term: its components' demands add up."""
    up = fsum(one.up for one in contributions)
    return up, max(up, fsum(one.down for one in contributions))
