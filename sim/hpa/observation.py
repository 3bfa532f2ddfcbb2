"""What the world shows the controller at one reconcile: the scale, the pods and what the metrics APIs answer.

Values are milli-units as the controller reads them; selectors are applied by whoever answers for the metrics API.
"""

from typing import NamedTuple

Reading = tuple[int | None, ...] | None
"""Values of one metric in the order of the answer; None or no value at all: the metric fails.

For a Pods metric value i belongs to pod i (ready pods first, Pending ones last), None where that pod has no value.
"""


class Observation(NamedTuple):
    """One reconcile's input; `readings` stand in the order of the spec's metrics."""

    spec_replicas: int
    status_replicas: int
    ready_pods: int
    readings: tuple[Reading, ...]
    pending_pods: int = 0
    """How many of the pods that are not ready are Pending; the others are Running."""
    scale_get_fails: bool = False
    scale_update_fails: bool = False

    @property
    def pods(self) -> int:
        """How many pods exist."""
        return max(self.status_replicas, self.ready_pods)
