"""One reconcile: what the controller decides from spec, state, observation and the time.

The step order and names are those of reconcileAutoscaler in horizontal.go (Kubernetes 1.36). Pure: the state it gives
back is new, `now` is an argument, and the optional account is only written.
"""

from typing import NamedTuple

from sim.hpa.account import Account
from sim.hpa.conditions import (
    FAILED_GET_SCALE,
    FAILED_UPDATE_SCALE,
    NOT_SCALED_TO_ZERO,
    SCALED_TO_ZERO,
    SCALING_DISABLED,
    SUCCEEDED_GET_SCALE,
    SUCCEEDED_RESCALE,
    VALID_METRIC_FOUND,
    Condition,
)
from sim.hpa.events import store_event
from sim.hpa.normalize_behavior import normalize_behavior
from sim.hpa.normalize_plain import normalize_plain
from sim.hpa.observation import Observation
from sim.hpa.proposal import propose
from sim.hpa.spec import Autoscaler
from sim.hpa.state import MetricStatus, Recommendation, ScaleEvent, State, Status

Metrics = tuple[MetricStatus | None, ...] | None


class Decision(NamedTuple):
    """What a reconcile leaves: the new state, `scale.spec.replicas`, and whether it was written."""

    state: State
    replicas: int
    is_rescaled: bool


def reconcile(hpa: Autoscaler, state: State, seen: Observation, now: int, account: Account | None = None) -> Decision:
    """Decide once; `now` in nanoseconds on any clock that only goes forward."""
    current = seen.spec_replicas
    status = state.status
    if account is not None:
        account.current = current
    # 1. Read the scale.
    if seen.scale_get_fails:
        return _unreadable(state, current, account)
    # 2. The count found first is the first recommendation.
    if state.recommendations is None:
        state = State((Recommendation(current, now),), state.up_events, state.down_events, status)
    # 3. Choose.
    active, limited = status.scaling_active, status.scaling_limited
    if current == 0 and not _wakes(hpa, status):
        return _disabled(hpa, state, account)
    if current > hpa.maximum:
        want, path = hpa.maximum, "above-maximum"
    elif current < hpa.minimum and current != 0:
        want, path = hpa.minimum, "below-minimum"
    else:
        return _by_metrics(hpa, state, seen, now, account)
    if account is not None:
        account.path = path
    before = Status(
        current,
        status.desired_replicas,
        SUCCEEDED_GET_SCALE,
        active,
        limited,
        status.scaled_to_zero,
        status.metric,
        None,
    )
    return _rescale(hpa, state, before, seen, want, now, account)


def _wakes(hpa: Autoscaler, status: Status) -> bool:
    """Whether metrics are read at zero replicas."""
    if not hpa.remembers_own_zero:
        return hpa.minimum == 0
    if not hpa.scale_to_zero or status.scaled_to_zero != SCALED_TO_ZERO:
        return False
    return hpa.minimum != 0 or hpa.has_object_or_external


def _unreadable(state: State, current: int, account: Account | None) -> Decision:
    if account is not None:
        account.path, account.final, account.outcome = "scale-unreadable", current, FAILED_GET_SCALE.reason
    return Decision(state._replace(status=state.status._replace(able_to_scale=FAILED_GET_SCALE)), current, False)


def _disabled(hpa: Autoscaler, state: State, account: Account | None) -> Decision:
    scaled_to_zero = state.status.scaled_to_zero if hpa.scale_to_zero else None
    status = Status(
        0, 0, SUCCEEDED_GET_SCALE, SCALING_DISABLED, state.status.scaling_limited, scaled_to_zero, None, None
    )
    if account is not None:
        account.path, account.final, account.outcome = "disabled", 0, SCALING_DISABLED.reason
    return Decision(state._replace(status=status), 0, False)


def _by_metrics(hpa: Autoscaler, state: State, seen: Observation, now: int, account: Account | None) -> Decision:
    current, old = seen.spec_replicas, state.status
    proposal, metric, metrics, failure = propose(hpa, seen, account)
    if failure is not None:
        if account is not None:
            account.path, account.final, account.outcome = "metrics", current, failure.reason
        return Decision(_failed(state, current, failure, metrics), current, False)
    want = proposal if proposal > 0 else 0
    if account is not None:
        account.path, account.want = "metrics", want
    if hpa.up is None or hpa.down is None:
        count, recommendations, able, limited = normalize_plain(
            hpa, state.recommendations or (), current, want, now, account
        )
    else:
        count, recommendations, able, limited = normalize_behavior(
            hpa, hpa.up, hpa.down, state, current, want, now, account
        )
    # Only after a wake: minReplicas was raised while the HPA itself had gone to zero.
    if current == 0 and count < hpa.minimum:
        count = hpa.minimum
    status = Status(current, current, able, VALID_METRIC_FOUND, limited, old.scaled_to_zero, metric, metrics)
    if count != current:
        state = State(recommendations, state.up_events, state.down_events, old)
        return _rescale(hpa, state, status, seen, count, now, account)
    if account is not None:
        account.final, account.outcome = current, able.reason
    return Decision(State(recommendations, state.up_events, state.down_events, status), current, False)


def _failed(state: State, current: int, failure: Condition, metrics: Metrics) -> State:
    """The computation failed: no recommendation is recorded and desiredReplicas stays as it was."""
    old = state.status
    status = Status(
        current,
        old.desired_replicas,
        SUCCEEDED_GET_SCALE,
        failure,
        old.scaling_limited,
        old.scaled_to_zero,
        None,
        metrics,
    )
    return State(state.recommendations, state.up_events, state.down_events, status)


def _rescale(
    hpa: Autoscaler, state: State, status: Status, seen: Observation, want: int, now: int, account: Account | None
) -> Decision:
    """4. Write the scale; 5. the status. `state.status` is still that of the last reconcile."""
    current = seen.spec_replicas
    if seen.scale_update_fails:
        if account is not None:
            account.final, account.outcome = current, FAILED_UPDATE_SCALE.reason
        failed = status._replace(desired_replicas=state.status.desired_replicas, able_to_scale=FAILED_UPDATE_SCALE)
        return Decision(state._replace(status=failed), current, False)
    up_events, down_events = _events(hpa, state, current, want, now)
    written = Status(
        current,
        want,
        SUCCEEDED_RESCALE,
        status.scaling_active,
        status.scaling_limited,
        _scaled_to_zero(hpa, current, want),
        status.metric,
        status.current_metrics,
    )
    if account is not None:
        account.final, account.outcome = want, SUCCEEDED_RESCALE.reason
    return Decision(State(state.recommendations, up_events, down_events, written), want, True)


def _events(
    hpa: Autoscaler, state: State, current: int, want: int, now: int
) -> tuple[tuple[ScaleEvent, ...], tuple[ScaleEvent, ...]]:
    """(up events, down events) after a rescale; without `behavior` none are kept, as none would be used."""
    if hpa.up is None or hpa.down is None:
        return state.up_events, state.down_events
    if want > current:
        return store_event(state.up_events, want - current, now, hpa.up), state.down_events
    return state.up_events, store_event(state.down_events, current - want, now, hpa.down)


def _scaled_to_zero(hpa: Autoscaler, current: int, want: int) -> Condition | None:
    """The condition by which the controller knows a zero of its own; set anew by every rescale."""
    if not hpa.scale_to_zero or not hpa.remembers_own_zero:
        return None
    is_own_zero = current > 0 and want == 0 and hpa.minimum == 0 and hpa.has_object_or_external
    return SCALED_TO_ZERO if is_own_zero else NOT_SCALED_TO_ZERO
