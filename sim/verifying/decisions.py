"""The decisions of a period: the replicas that the recording saw change, beside those that the HPA's model changes.

When the controller's syncs were, and how long each took, is in no recording. So the model is run at several phases and
latencies, and held against the recording at the one that fits longest: the sequence of changes must be equal, and each
within one sync period of what was recorded, which itself is known only to lie between two scrapes.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.recordings import HPA
from sim.hpa.account import Account
from sim.hpa.flags import NANOSECONDS_PER_SECOND, ControllerFlags, nanoseconds
from sim.hpa.observation import Observation
from sim.hpa.reconcile import reconcile
from sim.hpa.spec import Autoscaler, Spec, resolve
from sim.hpa.state import State
from sim.hpa.versions import find_version
from sim.replay.policy_source import read_metric
from sim.traces.recording import Recording
from sim.traces.trace import READY, REPLICAS
from sim.verifying.computing import Computed

PHASES = 8
"""Phases of the sync that are tried: at 2 s every 0.25 s."""
LATENCIES_SECONDS = (0.0, 0.01, 0.02, 0.05, 0.1)

Readings = tuple[tuple[int, ...] | None, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the replicas; it happened after `after` and not later than `at`."""

    after: float
    at: float
    before: int
    replicas: int


@dataclass(frozen=True, slots=True)
class Seen:
    """What the controller would read from a tick on, and in words."""

    t: float
    readings: Readings
    words: str


@dataclass(frozen=True, slots=True)
class Recorded:
    """The replicas of the recording: where they come from, those at the start, and their changes."""

    source: str
    first: int
    changes: tuple[Change, ...]
    last_seen: float


@dataclass(frozen=True, slots=True)
class DecisionDifference:
    """The first change that has no equal."""

    recorded: Change | None
    modelled: Change | None
    account: tuple[str, ...]
    """The model's account of its decision there."""


@dataclass(frozen=True, slots=True)
class Decisions:
    """How the decisions compare at the phase and latency that fit best."""

    source: str
    changes: int
    phase: float
    latency: float
    first: DecisionDifference | None


@dataclass(frozen=True, slots=True)
class Controller:
    """How the controller is run."""

    hpa: Spec
    sync: float
    kubernetes: str

    @property
    def autoscaler(self) -> Autoscaler:
        """The HPA as the controller works with it."""
        version = find_version(self.kubernetes)
        scale_to_zero = version.scale_to_zero_by_default or self.hpa.minimum == 0
        flags = ControllerFlags(nanoseconds(self.sync), version=version, scale_to_zero=scale_to_zero)
        return resolve(self.hpa, flags)


def seen_at(loaded: LoadedPolicy, hpa: Spec, one: Computed) -> Seen:
    """What a sync reads while this tick is served; a metric of no policy here is one that fails."""
    published = loaded.policy.spec.publish.metric.lower()
    read = [
        read_metric(loaded, metric, one.groups, one.t) if metric.name.lower() == published else (None, None)
        for metric in hpa.metrics
    ]
    texts = [step.text or f"{step.reason}: {step.message}" for _, step in read if step is not None]
    return Seen(one.t, tuple(reading for reading, _ in read), ", ".join(texts))


def recorded_replicas(recording: Recording, begin: float) -> Recorded | None:
    """The replicas from `begin` on: of the channel "hpa", else spec.replicas; None where neither was recorded."""
    zero = recording.header.epoch or 0.0
    samples = [
        (t, round(float(value)))
        for line in recording.channel(HPA)
        for t, value in zip(line.times, line.values, strict=True)
    ]
    source = "the replicas that the HPA wanted"
    if not samples:
        source = "spec.replicas of the workload"
        samples = [(one.time + zero, round(one.value)) for one in recording.samples() if one.input == REPLICAS]
    samples.sort()
    earlier = [value for t, value in samples if t <= begin]
    later = [(t, value) for t, value in samples if t > begin]
    if not samples or not later:
        return None
    first = earlier[-1] if earlier else later[0][1]
    changes, last, last_t = [], first, begin
    for t, value in later:
        if value != last:
            changes.append(Change(last_t, t, last, value))
        last, last_t = value, t
    return Recorded(source, first, tuple(changes), last_t)


def ready_over_time(recording: Recording) -> Sequence[tuple[float, int]]:
    """The ready pods as they were recorded."""
    zero = recording.header.epoch or 0.0
    return sorted((one.time + zero, round(one.value)) for one in recording.samples() if one.input == READY)


def compare_decisions(
    recorded: Recorded, seen: Sequence[Seen], ready: Sequence[tuple[float, int]], controller: Controller
) -> Decisions:
    """Compare at every phase and latency until one fits."""
    most, best = -1, Decisions(recorded.source, len(recorded.changes), 0.0, 0.0, None)
    for latency, number in product(LATENCIES_SECONDS, range(PHASES)):
        phase = number * controller.sync / PHASES
        steps = _run(recorded.first, seen, ready, controller, phase, latency)
        equal, difference = _first_difference(recorded, steps, controller.sync)
        if equal > most or difference is None:
            most, best = equal, Decisions(recorded.source, len(recorded.changes), phase, latency, difference)
        if difference is None:
            break
    return best


@dataclass(frozen=True, slots=True)
class _Step:
    change: Change
    account: Account
    words: str

    @property
    def is_change(self) -> bool:
        return self.change.before != self.change.replicas

    def lines(self) -> tuple[str, ...]:
        return (f"the tick gives {self.words}", *self.account.lines())


def _run(
    replicas: int,
    seen: Sequence[Seen],
    ready: Sequence[tuple[float, int]],
    controller: Controller,
    phase: float,
    latency: float,
) -> Iterator[_Step]:
    """Every sync of the model; its own replicas are those it decides on, so that one wrong decision shows."""
    autoscaler, state = controller.autoscaler, State()
    now, place, ready_place = seen[0].t + phase, 0, 0
    end = seen[-1].t
    while now <= end:
        while place + 1 < len(seen) and seen[place + 1].t <= now:
            place += 1
        while ready_place + 1 < len(ready) and ready[ready_place + 1][0] <= now:
            ready_place += 1
        count = min(replicas, ready[ready_place][1]) if ready else replicas
        account = Account()
        observation = Observation(replicas, replicas, count, seen[place].readings, replicas - count)
        at = round((now - seen[0].t) * NANOSECONDS_PER_SECOND)
        decision = reconcile(autoscaler, state, observation, at, account)
        yield _Step(Change(now, now, replicas, decision.replicas), account, seen[place].words)
        state, replicas = decision.state, decision.replicas
        now += controller.sync + latency


def _first_difference(recorded: Recorded, steps: Iterable[_Step], sync: float) -> tuple[int, DecisionDifference | None]:
    """How many changes are equal, and the first that is not; the run ends with it."""
    equal, last = 0, None
    for step in steps:
        there = recorded.changes[equal] if equal < len(recorded.changes) else None
        if there is not None and step.change.at > there.at + sync and last is not None:
            return equal, DecisionDifference(there, None, last.lines())  # due and not made
        if not step.is_change:
            last = step
            continue
        if there is None and step.change.at > recorded.last_seen - sync:
            break  # decided just before the end, and scraped by nobody
        if there is None or not _is_equal(there, step.change, sync):
            return equal, DecisionDifference(there, step.change, step.lines())
        equal, last = equal + 1, step
    if equal < len(recorded.changes):
        return equal, DecisionDifference(recorded.changes[equal], None, last.lines() if last is not None else ())
    return equal, None


def _is_equal(there: Change, own: Change, sync: float) -> bool:
    is_in_time = there.after - sync <= own.at <= there.at + sync
    return is_in_time and (there.before, there.replicas) == (own.before, own.replicas)
