"""Bounds: what limits a demand interval beside the terms: hysteresis, steps, cool-downs, credit for starting replicas.

All are told by N and its past, and only ever widen the interval or move U towards N: none can make the signal go below
what was asked for and below N at once. Where N is unknown nothing is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Amount:
    """So many replicas, or such a share of N, whichever is more."""

    replicas: float = 0.0
    share: float = 0.0

    def of(self, n: float) -> float:
        """The amount for N replicas."""
        return max(self.replicas, self.share * n)


@dataclass(frozen=True, slots=True)
class BoundsPlan:
    """The bounds of a policy; times in seconds, None where there is no bound."""

    hysteresis_up: Amount | None = None
    hysteresis_down: Amount | None = None
    step_up: Amount | None = None
    step_down: Amount | None = None
    cooldown_up: float | None = None
    cooldown_down: float | None = None
    credit_deadline: float | None = None

    @property
    def memory(self) -> float:
        """Seconds of N's past that the bounds look at."""
        times = (self.cooldown_up, self.cooldown_down, self.credit_deadline)
        return max((time for time in times if time is not None), default=0.0)


@dataclass(frozen=True, slots=True)
class Replicas:
    """N and the ready pods at a tick; None where unknown."""

    t: float
    n: float | None
    ready: int | None


def bound(plan: BoundsPlan, up: float, down: float, past: Sequence[Replicas]) -> tuple[float, float, list[str]]:
    """U and D within the bounds, with the words of those that bit; `past` is oldest first, the last is now."""
    now = past[-1]
    if now.n is None:
        return up, down, []
    n, steps = now.n, []
    if plan.credit_deadline is not None and up > n:
        starting = _starting(past, plan.credit_deadline)
        if starting > 0:
            up = max(n, up - starting)
            steps.append(f"credit for {starting:g} starting replicas: U {up:.6g}")
    if plan.cooldown_up is not None and up > n and _rose_within(past, plan.cooldown_up):
        up = n
        steps.append(f"cool-down: no step up within {plan.cooldown_up:g} s of the last")
    if plan.cooldown_down is not None and down < n and _rose_within(past, plan.cooldown_down):
        down = n
        steps.append(f"cool-down: no step down within {plan.cooldown_down:g} s of a step up")
    if plan.hysteresis_up is not None and n < up <= n + plan.hysteresis_up.of(n):
        up = n
        steps.append("hysteresis: U is too little above N")
    if plan.hysteresis_down is not None and n > down >= n - plan.hysteresis_down.of(n):
        down = n
        steps.append("hysteresis: D is too little below N")
    if plan.step_up is not None and up > n + plan.step_up.of(n):
        up = n + plan.step_up.of(n)
        steps.append(f"step up bounded: U {up:.6g}")
    if plan.step_down is not None and down < n - plan.step_down.of(n):
        down = n - plan.step_down.of(n)
        steps.append(f"step down bounded: D {down:.6g}")
    return up, max(up, down), steps


def _rose_within(past: Sequence[Replicas], seconds: float) -> bool:
    """Whether N is above what it was at some tick of the last seconds."""
    now = past[-1]
    return any(one.n is not None and now.n is not None and one.n < now.n for one in past if now.t - one.t <= seconds)


def _starting(past: Sequence[Replicas], deadline: float) -> float:
    """Replicas that were asked for within the deadline and are not ready yet.

    One that has not become ready by then crashes or cannot be scheduled, and earns no credit.
    """
    now = past[-1]
    if now.n is None or now.ready is None:
        return 0.0
    before = [one.n for one in past if one.n is not None and now.t - one.t <= deadline]
    asked_lately = now.n - min(before, default=now.n)
    return max(0.0, min(now.n - now.ready, asked_lately))
