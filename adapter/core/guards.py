"""Guards: what keeps replicas from going, or from coming, for a while, and why none of them latches.

A guard holds while its cause was true within the last `for`, judged anew from the ticks of the memory. A cause that
cannot be judged holds what goes, since missing data permits nothing to go, and never what comes. What holds without a
break for `max` is released and said so: a threshold that is always passed, or a code that sticks, must not pin a
workload for ever.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from adapter.core.expressions import Expression
from adapter.core.policy import Guard, Hold

EVENT_PRESETS = {"oom-kill": "kube/oom-kills", "restart": "kube/container-restarts", "xid": "dcgm/xid-changes"}
"""The preset that tells when each event last happened."""

GOOD_TICKS_AFTER_A_GAP = 5
"""After an outage the first samples are few and low: nothing goes until this many ticks in a row had data."""


@dataclass(frozen=True, slots=True)
class GuardPlan:
    """One guard: its cause as an expression, or as an input that tells event times or firing; spans in seconds."""

    text: str
    hold: float
    longest: float
    direction: str = "down"
    condition: Expression | None = None
    event_input: str | None = None
    alert_input: str | None = None


@dataclass(frozen=True, slots=True)
class Held:
    """Whether a guard holds now, and its words for the account."""

    is_holding: bool
    text: str
    direction: str = "down"


def plan_guard(index: int, guard: Guard, condition: Expression | None) -> GuardPlan:
    """The plan of one guard of a policy."""
    rule, direction = guard.rule, guard.direction
    if rule.after is not None:
        text, brought = f"after {rule.after}", guard_input(rule)
        return GuardPlan(text, rule.for_, rule.max, direction, event_input=brought)
    if rule.alert is not None:
        text, brought = f"alert {rule.alert}", guard_input(rule)
        return GuardPlan(text, rule.for_, rule.max, direction, alert_input=brought)
    if condition is None:
        raise ValueError(f"guard {index} has no cause")
    return GuardPlan(f"when {rule.when}", rule.for_, rule.max, direction, condition)


def guard_input(rule: Hold) -> str | None:
    """The name of the input that a guard brings along, which no policy can use for an own one."""
    if rule.after is not None:
        return f"guard: {rule.after}"
    return f"guard: alert {rule.alert}" if rule.alert is not None else None


def judge(plan: GuardPlan, times: Sequence[float], causes: Callable[[int], bool | None]) -> Held:
    """Whether the guard holds at the last of the ticks; `causes` tells of a tick, by its place, if its cause was true.

    `times` are the ticks' times, oldest first. A tick at which the cause is unknown counts as one at which it was true,
    where the guard holds what goes. Looked at from now backwards, no further than it matters: a guard that is free
    costs the ticks of its `for`, not those of its `max`.
    """
    now = times[-1]
    holding_since: float | None = None
    needed_until = now
    for place in range(len(times) - 1, -1, -1):
        if needed_until - times[place] > plan.hold:
            break  # whatever was true here or before had run out by then
        found = causes(place)
        if found is True or (found is None and plan.direction == "down"):
            holding_since = times[place]
            if now - holding_since >= plan.longest:
                text = f"guard {plan.text}: held for {plan.longest:g} s without a break, released"
                return Held(False, text, plan.direction)
            # It holds since then, and for longer if an older cause still held at the tick before.
            needed_until = times[place - 1]
    if holding_since is None:
        return Held(False, f"guard {plan.text}: free", plan.direction)
    return Held(True, f"guard {plan.text}: holds since {now - holding_since:.0f} s", plan.direction)
