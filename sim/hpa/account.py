"""The account of one decision: how it came about, step by step, for people to read.

Collected only if asked for: the functions of the model take an optional `Account` and write into it what they found.
The decision never depends on it.
"""

from dataclasses import dataclass, field

from sim.hpa.spec import Policy


@dataclass(slots=True)
class MetricAccount:
    """What one metric asked for: its count, or None if it failed; `is_inside` if the tolerance kept the count."""

    name: str
    usage_milli: int | None = None
    ratio: float | None = None
    is_inside: bool = False
    count: int | None = None


@dataclass(slots=True)
class Account:
    """One decision, in the order of the algorithm; None for a step that was not reached."""

    current: int = 0
    path: str = ""
    """What decided: "metrics", "above-maximum", "below-minimum", "disabled" or "scale-unreadable"."""
    metrics: list[MetricAccount] = field(default_factory=list)
    proposal: int | None = None
    proposed_by: str | None = None
    want: int | None = None
    stabilized: int | None = None
    stabilized_by: tuple[int, int] | None = None
    """(lowest, highest) recommendation in reach of the windows; without `behavior` the first is the wish itself."""
    policy: Policy | None = None
    """The policy whose limit was taken, if one was."""
    bound: int | None = None
    limited_by: str | None = None
    """The reason of ScalingLimited if it is True."""
    final: int | None = None
    outcome: str = ""

    def lines(self) -> list[str]:
        """The account in words, a line for each step."""
        text = [f"current {self.current}: {self.path}"]
        text += [_metric_line(metric) for metric in self.metrics]
        if self.proposal is not None:
            text.append(f"proposal {self.proposal} from {self.proposed_by}")
        if self.stabilized is not None and self.stabilized_by is not None:
            low, high = self.stabilized_by
            text.append(f"want {self.want}, stabilized {self.stabilized} (recommendations {low}..{high})")
        if self.bound is not None:
            by = f" by {self.policy.type} {self.policy.value}/{self.policy.period_seconds}s" if self.policy else ""
            text.append(f"bound {self.bound}{by}, limited: {self.limited_by or 'no'}")
        text.append(f"final {self.final}: {self.outcome}")
        return text


def _metric_line(metric: MetricAccount) -> str:
    if metric.count is None:
        return f"metric {metric.name}: failed"
    inside = ", inside the tolerance" if metric.is_inside else ""
    return f"metric {metric.name}: usage {metric.usage_milli}m, ratio {metric.ratio!r}{inside} -> {metric.count}"
