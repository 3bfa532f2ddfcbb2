"""The player: a trace laid on wall time, as the scrapes that a metric store would have taken of it.

Wall time w shows the trace at start + (w - begun) × speed. Nothing is rescaled: a counter of the trace advances `speed`
times as fast per wall second, a cold start is over `speed` times as soon, and replicas, requests and shares are what
they are. So at speed 10 every rate reads ten times the trace's, and a policy must have its rates multiplied and its
durations divided by ten (sim/demo/tempo.py) to give the same replicas. At the end the trace begins again with new pods.
"""

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from sim.demo.exposition import Series, deployment_series, pod_series
from sim.traces.metric_trace import MetricTrace, PodRow, Serving, Step

SCRAPE_SECONDS = 0.9
"""Below a second, so that a policy with `every: 1s` has its default offset at 2 s."""

KEPT_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class Scrape:
    """Everything that was exposed at one moment, by metric name."""

    time: float
    metrics: dict[str, list[Series]]


class TracePlayer:
    """The scrapes up to a moment, made when they are asked for; safe between threads."""

    def __init__(self, trace: MetricTrace, *, begun: float, start: float = 0.0, speed: float = 1.0) -> None:
        if not 0 <= start < trace.seconds:
            raise ValueError(f"start {start:g} s is outside of the trace, which has {trace.seconds} s")
        self.trace, self.begun, self.start, self.speed = trace, begun, start, speed
        self._scrapes: deque[Scrape] = deque(maxlen=int(KEPT_SECONDS / SCRAPE_SECONDS) + 1)
        self._lock = threading.Lock()
        # What was before the demonstration began is played too, as far as the trace goes back.
        first = max(begun - start / speed, begun - KEPT_SECONDS / 2)
        self._next = int(first / SCRAPE_SECONDS) + 1

    def trace_time(self, now: float) -> float:
        """Seconds into the trace, from its beginning, counting on through repetitions."""
        return self.start + (now - self.begun) * self.speed

    def scrapes(self, now: float) -> list[Scrape]:
        """The scrapes until now that are still kept, oldest first."""
        with self._lock:
            while (time := round(self._next * SCRAPE_SECONDS, 3)) <= now:
                self._scrapes.append(Scrape(time, self._expose(self.trace_time(time))))
                self._next += 1
            return list(self._scrapes)

    def _expose(self, at: float) -> dict[str, list[Series]]:
        metrics: dict[str, list[Series]] = {}
        lap, seconds = divmod(at, self.trace.seconds)
        for deployment, steps in self.trace.deployments.items():
            for series in _exposed(deployment, steps, seconds / self.trace.step_seconds, int(lap)):
                metrics.setdefault(series.name, []).append(series)
        return metrics


def _exposed(deployment: str, steps: tuple[Step, ...], place: float, lap: int) -> Iterator[Series]:
    index = int(place)
    step, following = steps[index], steps[min(index + 1, len(steps) - 1)]
    yield from deployment_series(deployment, step)
    for name, row in step.pods.items():
        between = _between(row, following.pods.get(name, row), place - index)
        yield from pod_series(deployment, _pod_name(name, lap), between)


def _pod_name(name: str, lap: int) -> str:
    """In each repetition the pods belong to another ReplicaSet, as after a rollout."""
    if lap == 0:
        return name
    deployment, replica_set, suffix = name.rsplit("-", 2)
    return f"{deployment}-{replica_set}{lap}-{suffix}"


def _between(one: PodRow, following: PodRow, share: float) -> PodRow:
    """A pod between two steps; it changes state at a step, never in between."""

    def mix(a: float, b: float) -> float:
        return a + (b - a) * share

    serving = None
    if one.serving is not None:
        a, b = one.serving, following.serving or one.serving
        serving = Serving(
            arrivals_total=round(mix(a.arrivals_total, b.arrivals_total)),
            completed_total=round(mix(a.completed_total, b.completed_total)),
            waiting=round(mix(a.waiting, b.waiting)),
            running=round(mix(a.running, b.running)),
            kv_ratio=mix(a.kv_ratio, b.kv_ratio),
        )
    return PodRow(
        pod=one.pod,
        is_ready=one.is_ready,
        serving=serving,
        gpu_active=mix(one.gpu_active, following.gpu_active),
        vram_used_mib=round(mix(one.vram_used_mib, following.vram_used_mib)),
        vram_free_mib=round(mix(one.vram_free_mib, following.vram_free_mib)),
        vram_reserved_mib=one.vram_reserved_mib,
    )
