"""The simulated pods of one workload, and what kube-state-metrics would have scraped of them.

A pod is created by a scale-up, ready after its start-up time and deleted at once by a scale-down: those that are not
ready first, then the youngest, as the ReplicaSet controller does. Times are on the samples' clock.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from adapter.core.samples import Answer, Sample, Series
from sim.replay.parameters import Startup

MAX_PODS = 1_000_000


@dataclass(slots=True)
class Pod:
    """One pod; `ready_at` is when it becomes ready."""

    name: str
    ready_at: float


class Pods:
    """The pods there are, changed by scaling alone."""

    def __init__(self, replicas: int, startup: Startup, seed: int, now: float) -> None:
        self._startup, self._random = startup, Random(seed)  # noqa: S311  # a simulation, not a secret
        self._made = 0
        self.starts = 0
        self.pods: list[Pod] = []
        for _ in range(replicas):
            self._create(now)
        # Those found at the start have been there for long.
        for pod in self.pods:
            pod.ready_at = float("-inf")
        self.starts = 0
        self._latest_ready = float("-inf")
        self.unready = 0
        """How many of the ready ones a fault has made unready."""

    @property
    def replicas(self) -> int:
        """spec.replicas, and as many pods."""
        return len(self.pods)

    def scale(self, replicas: int, now: float) -> int:
        """Make it so many; how many were created."""
        created = max(0, replicas - len(self.pods))
        for _ in range(created):
            self._create(now)
        if replicas < len(self.pods):
            # A stable sort keeps the older first among those that are ready.
            self.pods.sort(key=lambda pod: max(pod.ready_at, now))
            del self.pods[replicas:]
        return created

    def _create(self, now: float) -> None:
        self._made += 1
        self.starts += 1
        ready_at = now + self._startup.draw(self._random)
        self.pods.append(Pod(f"replica-{self._made}", ready_at))
        self._latest_ready = max(getattr(self, "_latest_ready", ready_at), ready_at)

    def ready(self, now: float) -> int:
        """How many are ready."""
        if now >= self._latest_ready:
            count = len(self.pods)
        else:
            count = sum(pod.ready_at <= now for pod in self.pods)
        return max(0, count - self.unready)

    def ready_names(self, now: float) -> list[str]:
        """The names of the ready ones, those left out that a fault has hit: the oldest."""
        return [pod.name for pod in self.pods if pod.ready_at <= now][self.unready :]


class PodScrapes:
    """Samples of spec.replicas, the ready pods and, where wanted, their names, taken on the scrape's own grid."""

    def __init__(self, pods: Pods, interval: float, phase: float, start: float, keep: float, with_names: bool) -> None:
        self._pods, self._interval, self._keep, self._with_names = pods, interval, keep, with_names
        # The memory of what was before the start is that nothing had changed.
        behind = int(keep // interval) + 1
        self._next = phase + (int((start - phase) // interval) - behind) * interval
        self._spec: deque[Sample] = deque()
        self._ready: deque[Sample] = deque()
        self._named: dict[str, deque[Sample]] = {}

    def advance(self, now: float) -> None:
        """Scrape at every instant of the grid up to now."""
        while self._next <= now:
            at = self._next
            self._spec.append(Sample(float(self._pods.replicas), at))
            self._ready.append(Sample(float(self._pods.ready(at)), at))
            if self._with_names:
                for name in self._pods.ready_names(at):
                    self._named.setdefault(name, deque()).append(Sample(1.0, at))
            self._next = at + self._interval
            self._forget(at - self._keep)

    def _forget(self, before: float) -> None:
        while self._spec and self._spec[0].time < before:
            self._spec.popleft()
            self._ready.popleft()
        for name, samples in list(self._named.items()):
            while samples and samples[0].time < before:
                samples.popleft()
            if not samples:
                del self._named[name]

    def answers(self, instant: float, lookback: float) -> Iterator[tuple[str, Answer]]:
        """What a source would answer at an instant, by the queries that playback.py names."""
        yield "sim replicas", _answer(cut(self._spec, instant, lookback))
        yield "sim ready", _answer(cut(self._ready, instant, lookback))
        if self._with_names:
            named = ((name, cut(samples, instant, lookback)) for name, samples in self._named.items())
            yield "sim pods", Answer(tuple(Series((("pod", name),), samples) for name, samples in named if samples))


def cut(samples: deque[Sample], instant: float, lookback: float) -> tuple[Sample, ...]:
    """The samples that a range selector at the instant sees."""
    oldest = instant - lookback
    if samples and samples[0].time >= oldest and samples[-1].time <= instant:
        return tuple(samples)
    return tuple([sample for sample in samples if oldest <= sample.time <= instant])


def _answer(samples: tuple[Sample, ...]) -> Answer:
    return Answer((Series((), samples),)) if samples else Answer()
