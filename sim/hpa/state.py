"""What lasts between reconciles: the controller's memory, and the status in the API object.

A controller restart loses the memory and keeps the status. All of it is immutable; a reconcile makes a new state.
"""

from typing import NamedTuple

from sim.hpa.conditions import Condition


class Recommendation(NamedTuple):
    """A count that metrics asked for, before stabilization, and when."""

    replicas: int
    time_ns: int


class ScaleEvent(NamedTuple):
    """A rescale that the controller made itself: by how much (> 0), when, and whether it may be overwritten."""

    change: int
    time_ns: int
    is_outdated: bool


class MetricStatus(NamedTuple):
    """One entry of status.currentMetrics: the name, the target type ("Value" or "AverageValue") and the milli-value."""

    name: str
    target_type: str
    milli: int


class Status(NamedTuple):
    """The status of the HorizontalPodAutoscaler as it stands in the API; None for what was never set."""

    current_replicas: int = 0
    desired_replicas: int = 0
    able_to_scale: Condition | None = None
    scaling_active: Condition | None = None
    scaling_limited: Condition | None = None
    scaled_to_zero: Condition | None = None
    metric: str | None = None
    """The metric that gave the proposal; as old as ScalingActive."""
    current_metrics: tuple[MetricStatus | None, ...] | None = None
    """None if the last reconcile read no metrics; an entry is None if that metric failed."""


class State(NamedTuple):
    """Memory and status of one HorizontalPodAutoscaler."""

    recommendations: tuple[Recommendation, ...] | None = None
    """In slots: a new one takes the place of the last that no window can reach."""
    up_events: tuple[ScaleEvent, ...] = ()
    down_events: tuple[ScaleEvent, ...] = ()
    status: Status = Status()


def restarted(state: State) -> State:
    """The state after the controller restarted: its memory is gone, the API object is not."""
    return State(status=state.status)
