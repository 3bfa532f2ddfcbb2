"""Publishing: from the demand interval and N to the number on the wire, or why there is none.

N clamped into [U, D]; then the unit that the target type wants, floor and ceiling, and one rounding.
"""

from dataclasses import dataclass
from enum import StrEnum

from adapter.core.policy import Publish
from adapter.core.quantity import MAX_VALUE, milli_of_replicas, milli_of_value
from adapter.core.reasons import Missing, Reason


class Side(StrEnum):
    """Which end of the interval decided."""

    UP = "up"
    DOWN = "down"
    HELD = "n"


@dataclass(frozen=True, slots=True)
class Decision:
    """The combined interval in replicas, N, and for a policy of one input its totals and what one replica takes."""

    up: float
    down: float
    n: float | None
    totals: tuple[float, float] | None = None
    divisor: float = 1.0

    @property
    def side(self) -> Side:
        """U if U > N, D if D < N, else N; U where N is unknown."""
        if self.n is None or self.up > self.n:
            return Side.UP
        return Side.DOWN if self.down < self.n else Side.HELD

    @property
    def replicas(self) -> float:
        """N clamped into [U, D]."""
        match self.side:
            case Side.UP:
                return self.up
            case Side.DOWN:
                return self.down
            case Side.HELD:
                return self.n or 0.0


@dataclass(frozen=True, slots=True)
class Published:
    """The value in milli-units with the steps that led to it, or why nothing can be published."""

    milli: int
    steps: tuple[str, ...]
    missing: Missing | None = None
    is_cut: bool = False
    """Whether more was asked for than the ceiling allows."""


def publish(rule: Publish, decision: Decision, floor: float | None, ceiling: float | None) -> Published:
    """The number to serve for a decision, within the floor and ceiling in force."""
    value = decision.replicas
    steps = [f"N clamped into [U, D]: {value:.6g}"]
    match rule.as_:
        case "total":
            value = _total(decision)
            steps.append(f"as total: × {decision.divisor:g} = {value:.6g}")
        case "ratio":
            if not decision.n:
                return Published(0, tuple(steps), Missing(Reason.NO_REPLICAS, "a ratio to N needs N above 0"))
            value /= decision.n
            steps.append(f"as ratio: ÷ N {decision.n:g} = {value:.6g}")
        case "replicas":
            pass
    if floor is not None and value < floor:
        value = floor
        steps.append(f"floor {floor:g}")
    is_cut = ceiling is not None and value > ceiling
    if ceiling is not None and is_cut:
        value = ceiling
        steps.append(f"ceiling {ceiling:g}")
    if not value <= MAX_VALUE:
        return Published(0, tuple(steps), Missing(Reason.TOO_LARGE, f"{value:g} is above {MAX_VALUE}"))
    milli = milli_of_replicas(value) if rule.as_ == "replicas" else milli_of_value(value)
    return Published(milli, tuple(steps), is_cut=is_cut)


def _total(decision: Decision) -> float:
    if decision.totals is None:  # shaped or bounded: what it is in replicas, times what one replica takes
        return decision.replicas * decision.divisor
    match decision.side:
        case Side.UP:
            return decision.totals[0]
        case Side.DOWN:
            return decision.totals[1]
        case Side.HELD:
            return (decision.n or 0.0) * decision.divisor
