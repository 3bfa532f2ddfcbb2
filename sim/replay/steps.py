"""Steps: what a replay tells of each sync of the HPA. Times are seconds on the trace's own clock."""

from dataclasses import dataclass

from adapter.core.signals import NoSignal, Signal
from sim.hpa.account import Account
from sim.hpa.state import Status


@dataclass(frozen=True, slots=True)
class MetricStep:
    """One metric of the HPA as the sync saw it: the text on the wire, or the reason and words of its absence.

    `tick` is the evaluation that it comes from, `outcome` what that evaluation gave (one group's, where one was asked).
    """

    name: str
    text: str | None
    reason: str | None = None
    message: str = ""
    tick: float | None = None
    outcome: Signal | NoSignal | None = None


@dataclass(frozen=True, slots=True)
class SyncStep:
    """One sync: what was seen, what was decided, and why."""

    t: float
    metrics: tuple[MetricStep, ...]
    replicas: int
    """spec.replicas before the decision."""
    desired: int
    """spec.replicas after it."""
    ready: int
    """Ready pods at the sync."""
    account: Account
    status: Status
    pod_starts: int = 0
    """Pods created by this decision."""

    @property
    def reasons(self) -> tuple[str, ...]:
        """The controller's reasons: of the conditions it set, then of each metric that failed."""
        conditions = (self.status.able_to_scale, self.status.scaling_active, self.status.scaling_limited)
        found = [one.reason for one in conditions if one is not None]
        found += [f"{one.name}: {one.reason}" for one in self.metrics if one.text is None]
        return tuple(dict.fromkeys(found))

    @property
    def is_rescale(self) -> bool:
        """Whether the controller wrote the scale."""
        return self.desired != self.replicas
