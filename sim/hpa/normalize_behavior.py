"""A wish to a count, for an HPA with `behavior`: windows both ways, then policies both ways.

Follows normalizeDesiredReplicasWithBehaviors, stabilizeRecommendationWithBehaviors and
convertDesiredReplicasWithBehaviorRate of horizontal.go.
"""

from sim.hpa.account import Account
from sim.hpa.conditions import (
    DESIRED_WITHIN_RANGE,
    READY_FOR_NEW_SCALE,
    SCALE_DOWN_LIMIT,
    SCALE_DOWN_STABILIZED,
    SCALE_UP_LIMIT,
    SCALE_UP_STABILIZED,
    TOO_FEW_REPLICAS,
    TOO_MANY_REPLICAS,
    Condition,
)
from sim.hpa.normalize_plain import Normalized, Recommendations, record
from sim.hpa.policies import scale_down_limit, scale_up_limit
from sim.hpa.spec import Autoscaler, Direction
from sim.hpa.state import State


def normalize_behavior(
    hpa: Autoscaler,
    up: Direction,
    down: Direction,
    state: State,
    current: int,
    want: int,
    now: int,
    account: Account | None,
) -> Normalized:
    """Stabilize the wish, then limit it by the policies and the bounds."""
    recommendations = state.recommendations or ()
    low, high, outdated = _reach(recommendations, want, now - up.window_ns, now - down.window_ns)
    stable = low if current < low else current
    if stable > high:
        stable = high
    recommendations = record(recommendations, want, now, outdated)
    if stable == want:
        able = READY_FOR_NEW_SCALE
    else:
        able = SCALE_UP_STABILIZED if want >= current else SCALE_DOWN_STABILIZED
    if account is not None:
        account.stabilized, account.stabilized_by = stable, (low, high)
    if stable > current:
        count, limited = _limit_up(hpa, up, state, current, stable, now, account)
    elif stable < current:
        count, limited = _limit_down(hpa, down, state, current, stable, now, account)
    else:
        count, limited = stable, DESIRED_WITHIN_RANGE
    if account is not None:
        account.limited_by = None if limited is DESIRED_WITHIN_RANGE else limited.reason
    return count, recommendations, able, limited


def _reach(recommendations: Recommendations, want: int, up_cutoff: int, down_cutoff: int) -> tuple[int, int, int]:
    """(lowest in the up window, highest in the down window, index of the last slot that neither can reach)."""
    low = high = want
    outdated = -1
    oldest = min(up_cutoff, down_cutoff)
    for index, (count, time) in enumerate(recommendations):
        # Exactly as old as the window no longer counts.
        if time > down_cutoff:
            if count > high:
                high = count
        elif time < oldest:
            outdated = index
        if time > up_cutoff and count < low:
            low = count
    return low, high, outdated


def _limit_up(
    hpa: Autoscaler, up: Direction, state: State, current: int, stable: int, now: int, account: Account | None
) -> tuple[int, Condition]:
    limit = max(current, scale_up_limit(up, state, current, now, account))
    if hpa.maximum > limit:
        bound, reason = limit, SCALE_UP_LIMIT
    else:
        bound, reason = hpa.maximum, TOO_MANY_REPLICAS
    if account is not None:
        account.bound = bound
    return (bound, reason) if stable > bound else (stable, DESIRED_WITHIN_RANGE)


def _limit_down(
    hpa: Autoscaler, down: Direction, state: State, current: int, stable: int, now: int, account: Account | None
) -> tuple[int, Condition]:
    limit = min(current, scale_down_limit(down, state, current, now, account))
    if hpa.minimum < limit:
        bound, reason = limit, SCALE_DOWN_LIMIT
    else:
        bound, reason = hpa.minimum, TOO_FEW_REPLICAS
    if account is not None:
        account.bound = bound
    return (bound, reason) if stable < bound else (stable, DESIRED_WITHIN_RANGE)
