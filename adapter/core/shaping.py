"""Shaping: a term's demand over the ticks of a window rather than at one instant.

Smoothing costs delay: to 16 replicas took 67 s raw, 127 s with an average of 60 s and 217 s with one of 120 s. So U,
what is asked for, is shaped only where a policy says so. All is a function of the ticks in the window: averages are
finite and normalised, never updated, so that a restart changes nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, fsum, isinf

MAX_FORECAST = 1.5
"""A trend asks for at most this many times the plain demand: it extrapolates, it does not know."""


@dataclass(frozen=True, slots=True)
class WindowRule:
    """What is taken of the demands in a window (seconds): max, min, mean, ewma, or a quantile."""

    window: float
    take: str | float


@dataclass(frozen=True, slots=True)
class TrendRule:
    """Least squares over the window, looked ahead by the horizon; both in seconds."""

    window: float
    horizon: float


@dataclass(frozen=True, slots=True)
class ShapePlan:
    """How a term's U and D are shaped; None leaves a coordinate as it is."""

    up: WindowRule | None = None
    down: WindowRule | None = None
    trend: TrendRule | None = None

    @property
    def window(self) -> float:
        """Seconds of ticks that shaping looks at."""
        return max(rule.window for rule in (self.up, self.down, self.trend) if rule is not None)


@dataclass(frozen=True, slots=True)
class Point:
    """A term's interval at a tick."""

    t: float
    up: float
    down: float


def shape(plan: ShapePlan, points: Sequence[Point]) -> tuple[float, float]:
    """U and D of the last of the points, shaped; points are oldest first, not empty."""
    now = points[-1]
    up, down = now.up, now.down
    if plan.up is not None:
        up = _take(plan.up, [(now.t - point.t, point.up) for point in points if now.t - point.t < plan.up.window])
    if plan.trend is not None:
        up = max(up, _forecast(plan.trend, points, up))
    if plan.down is not None and not isinf(down):
        down = _take(
            plan.down, [(now.t - point.t, point.down) for point in points if now.t - point.t < plan.down.window]
        )
    return up, max(up, down)


def _take(rule: WindowRule, aged: Sequence[tuple[float, float]]) -> float:
    """The value taken from (age, demand) pairs; the youngest has age 0."""
    values = [value for _, value in aged]
    match rule.take:
        case "max":
            return max(values)
        case "min":
            return min(values)
        case "mean":
            return fsum(values) / len(values)
        case "ewma":
            # The window holds three time constants: what is older weighs less than 5 %.
            weights = [exp(-3 * age / rule.window) for age, _ in aged]
            return fsum(weight * value for weight, value in zip(weights, values, strict=True)) / fsum(weights)
        case float() as quantile:
            return sorted(values)[max(0, ceil(quantile * len(values)) - 1)]
        case other:
            raise ValueError(f"no rule to take {other}")


def _forecast(rule: TrendRule, points: Sequence[Point], plain: float) -> float:
    """The demand at the horizon by a straight line through the window, at most MAX_FORECAST times the plain one."""
    now = points[-1].t
    inside = [(point.t - now, point.up) for point in points if now - point.t < rule.window]
    if len(inside) < 3:
        return plain
    mean_t = fsum(t for t, _ in inside) / len(inside)
    mean_u = fsum(u for _, u in inside) / len(inside)
    spread = fsum((t - mean_t) ** 2 for t, _ in inside)
    slope = fsum((t - mean_t) * (u - mean_u) for t, u in inside) / spread
    return min(plain + max(0.0, slope) * rule.horizon, MAX_FORECAST * plain)
