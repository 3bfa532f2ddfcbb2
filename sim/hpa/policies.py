"""How far the policies of `behavior` let a count go within their periods.

Follows calculateScaleUpLimitWithScalingRules, calculateScaleDownLimitWithBehaviors and getReplicasChangePerPeriod of
horizontal.go. A period starts at the count before the controller's own changes inside it; edits by others are not
known, so the start can even be negative.
"""

from sim.hpa.account import Account
from sim.hpa.arithmetic import ceil32, truncate32, wrap32
from sim.hpa.spec import Direction, Limit, SelectPolicy
from sim.hpa.state import ScaleEvent, State


def scale_up_limit(rules: Direction, state: State, current: int, now: int, account: Account | None) -> int:
    """The highest count the policies allow: Max takes the one that allows most."""
    if rules.select is SelectPolicy.DISABLED:
        return current
    proposals = []
    for limit in rules.limits:
        start = _period_start(limit, state, current, now)
        proposals.append(ceil32(start * limit.factor) if limit.is_percent else wrap32(start + limit.value))
    chosen = min(proposals) if rules.select is SelectPolicy.MIN else max(proposals)
    if account is not None:
        account.policy = rules.limits[proposals.index(chosen)].policy
    return chosen


def scale_down_limit(rules: Direction, state: State, current: int, now: int, account: Account | None) -> int:
    """The lowest count the policies allow: Max takes the one that allows most, so the lowest."""
    if rules.select is SelectPolicy.DISABLED:
        return current
    proposals = []
    for limit in rules.limits:
        start = _period_start(limit, state, current, now)
        # Cut towards zero: 9.999999999999998 is 9.
        proposals.append(truncate32(start * limit.factor) if limit.is_percent else wrap32(start - limit.value))
    chosen = max(proposals) if rules.select is SelectPolicy.MIN else min(proposals)
    if account is not None:
        account.policy = rules.limits[proposals.index(chosen)].policy
    return chosen


def _period_start(limit: Limit, state: State, current: int, now: int) -> int:
    cutoff = now - limit.period_ns
    return wrap32(current - _changes(state.up_events, cutoff) + _changes(state.down_events, cutoff))


def _changes(events: tuple[ScaleEvent, ...], cutoff: int) -> int:
    """The sum of changes; an event exactly as old as the period no longer counts, an outdated one still does."""
    total = 0
    for change, time, _ in events:
        if time > cutoff:
            total += change
    return total
