"""A wish to a count, for an HPA without `behavior`: the flag's window downwards, twice the count upwards.

Follows stabilizeRecommendation, normalizeDesiredReplicas and convertDesiredReplicasWithRules of horizontal.go.
"""

from sim.hpa.account import Account
from sim.hpa.arithmetic import MAX32, MIN32
from sim.hpa.conditions import (
    DESIRED_WITHIN_RANGE,
    READY_FOR_NEW_SCALE,
    SCALE_DOWN_STABILIZED,
    SCALE_UP_LIMIT,
    TOO_FEW_REPLICAS,
    TOO_MANY_REPLICAS,
    Condition,
)
from sim.hpa.spec import Autoscaler
from sim.hpa.state import Recommendation

Recommendations = tuple[Recommendation, ...]
Normalized = tuple[int, Recommendations, Condition, Condition]
"""(count, recommendations, AbleToScale, ScalingLimited)."""


def normalize_plain(
    hpa: Autoscaler, recommendations: Recommendations, current: int, want: int, now: int, account: Account | None
) -> Normalized:
    """Stabilize the wish, then bound it."""
    stable, recommendations = _stabilize(recommendations, want, now, hpa.plain_window_ns)
    able = READY_FOR_NEW_SCALE if stable == want else SCALE_DOWN_STABILIZED
    count, bound, limited = _bound(hpa, current, stable)
    if account is not None:
        account.stabilized, account.stabilized_by = stable, (want, stable)
        account.bound = bound
        account.limited_by = None if limited is DESIRED_WITHIN_RANGE else limited.reason
    return count, recommendations, able, limited


def _stabilize(recommendations: Recommendations, want: int, now: int, window_ns: int) -> tuple[int, Recommendations]:
    cutoff = now - window_ns
    stable = want
    outdated = -1
    for index, (count, time) in enumerate(recommendations):
        # Exactly as old as the window still counts here; with behavior it does not.
        if time < cutoff:
            outdated = index
        elif count > stable:
            stable = count
    return stable, record(recommendations, want, now, outdated)


def record(recommendations: Recommendations, want: int, now: int, outdated: int) -> Recommendations:
    """The recommendations with the unstabilized wish, in the slot of an outdated one if there is one (index ≥ 0)."""
    new = (Recommendation(want, now),)
    if outdated < 0:
        return recommendations + new
    return recommendations[:outdated] + new + recommendations[outdated + 1 :]


def _bound(hpa: Autoscaler, current: int, stable: int) -> tuple[int, int, Condition]:
    # From 1 to 4, from 4 to 8; an int32 that overflows is the most negative one.
    limit = max(2 * current, 4)
    if limit > MAX32:
        limit = MIN32
    if hpa.maximum > limit:
        ceiling, reason = limit, SCALE_UP_LIMIT
    else:
        ceiling, reason = hpa.maximum, TOO_MANY_REPLICAS
    if stable < hpa.minimum:
        return hpa.minimum, hpa.minimum, TOO_FEW_REPLICAS
    if stable > ceiling:
        return ceiling, ceiling, reason
    return stable, ceiling, DESIRED_WITHIN_RANGE
