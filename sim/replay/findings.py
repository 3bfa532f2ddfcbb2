"""Findings of a run: what makes it inconclusive, and what its author should know although nothing failed."""

from collections.abc import Iterator
from dataclasses import dataclass

from sim.hpa.spec import Spec, TargetType
from sim.replay.policy_source import milli_on_the_wire
from sim.replay.runner import Run
from sim.replay.steps import SyncStep

AT_MAXIMUM = 0.99
"""A value of at least this share of the highest is at it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding: a code, words with the numbers, and whether it makes the run inconclusive."""

    code: str
    message: str
    is_inconclusive: bool = False

    def as_data(self) -> dict[str, object]:
        """For JSON."""
        return {"code": self.code, "message": self.message, "inconclusive": self.is_inconclusive}


@dataclass(slots=True)
class _Seen:
    """One metric over the run: per replica in milli-units, and how often it was at its highest."""

    highest: int = 0
    count: int = 0
    lowest: int | None = None
    absent: int = 0


class Watch:
    """Looks at each sync for what is told at the end."""

    def __init__(self, hpa: Spec) -> None:
        self._hpa = hpa
        self._seen = [_Seen() for _ in hpa.metrics]
        self.syncs = 0

    def add(self, step: SyncStep) -> None:
        """Look at one sync."""
        self.syncs += 1
        for metric, seen, spec in zip(step.metrics, self._seen, self._hpa.metrics, strict=True):
            if metric.text is None:
                seen.absent += 1
                continue
            milli = sum(map(milli_on_the_wire, metric.text.split("+")))
            if spec.target_type is TargetType.AVERAGE_VALUE:
                milli = milli // max(1, step.replicas)
            seen.count += 1
            seen.highest = max(seen.highest, milli)
            seen.lowest = milli if seen.lowest is None else min(seen.lowest, milli)

    def findings(self, run: Run) -> list[Finding]:
        """Everything about the run that has ended."""
        return [*_inconclusive(run, self), *self._saturated()]

    @property
    def has_metric(self) -> bool:
        """Whether any sync had a metric."""
        return any(seen.count for seen in self._seen)

    def _saturated(self) -> Iterator[Finding]:
        """A metric that sits at its maximum below its target for the whole run: a gauge that the target is beyond."""
        for metric, seen in zip(self._hpa.metrics, self._seen, strict=True):
            is_still = seen.lowest is not None and seen.lowest >= AT_MAXIMUM * seen.highest
            if seen.count > 1 and is_still and 0 < seen.highest < metric.target_milli:
                message = (
                    f"{metric.name} sits at its maximum {seen.highest / 1000:g} per replica, below its target "
                    f"{metric.target_milli / 1000:g}, for the whole run: a gauge that ends there, as running "
                    "requests do at the batch size, never scales; count what waits as well, or the load was low"
                )
                yield Finding("signal-saturated", message)


def _inconclusive(run: Run, watch: Watch) -> Iterator[Finding]:
    for name in run.absent:
        message = (
            f"the trace has no samples of {name}: it is missing throughout, which it was not where this was recorded"
        )
        yield Finding("input-not-in-trace", message, True)
    for name in run.foreign:
        yield Finding("metric-not-modelled", f"{name} is published by no policy here: it fails at every sync", True)
    for one in run.uncarried.values():
        message = f"{one.input}: {one.cause}; {one.rows} rows, from {one.first:g} s to {one.last:g} s"
        yield Finding("not-carried", message, True)
    if watch.syncs == 0:
        yield Finding("too-short", "the trace is over before the first sync", True)
    elif not watch.has_metric:
        yield Finding("no-metric", "no sync had a metric: nothing was shown", True)
