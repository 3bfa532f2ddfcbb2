"""Playback: a policy's plan turned to a trace, and the trace's samples as the answers to its queries.

The plan that serves asks Prometheus; this one asks the trace by name. Everything behind the answers (staleness, bad
numbers, pods, rules for missing data, terms) is the same plan and the same code.
"""

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from adapter.core.input_kinds import Kind
from adapter.core.input_plans import Alternative, InputPlan, SeriesPlan
from adapter.core.plans import PolicyPlan, ReplicasPlan
from adapter.core.presets import Take
from adapter.core.samples import Answer, Labels, Sample, Series
from sim.replay.parameters import ReplayError
from sim.replay.pods import cut
from sim.traces.trace import READY, REPLICAS, SIGNAL, Trace, TraceHeader, TraceSample

RESERVED = (SIGNAL, REPLICAS, READY)

SAME_INSTANT_SECONDS = 0.0005
"""Times closer than this are one instant, as where a longer answer is cut into ticks in production."""


@dataclass(frozen=True, slots=True)
class TracePlan:
    """A policy's plan that asks a trace; `queries` are what it asks, by the trace's names."""

    plan: PolicyPlan
    queries: Mapping[str, str]
    """Query → the trace's name for it."""
    owners: Mapping[str, str]
    """The trace's name → the input that it belongs to."""
    quiet: tuple[str, ...]
    """Inputs that guards bring along and the trace does not have: nothing of the kind happened."""
    absent: tuple[str, ...]
    """Inputs of the policy that the trace does not have: missing throughout."""
    unused: tuple[str, ...]
    """What the trace has and nobody asks for."""
    instants: frozenset[str] = frozenset()
    """Names of which only the very instant counts: what a server computed for it."""

    @property
    def notes(self) -> list[str]:
        """What to know about it."""
        events = [name.removeprefix("guard: ") for name in self.quiet]
        quiet = [f"the trace has nothing of {', '.join(events)}: none is taken to have happened"] if events else []
        unused = [f"not asked for by the policy: {', '.join(self.unused)}"] if self.unused else []
        return [*quiet, *unused]


def plan_for_trace(plan: PolicyPlan, header: TraceHeader, offset: float | None, with_names: bool) -> TracePlan:
    """The plan that asks the trace; ReplayError where the trace has none of the policy's inputs."""
    if header.is_recording:
        return plan_for_recording(plan, header, offset, with_names)
    queries: dict[str, str] = {}
    owners: dict[str, str] = {}
    inputs: dict[str, InputPlan] = {}
    quiet: list[str] = []
    absent: list[str] = []
    for name, declared in plan.inputs.items():
        parts = [f"{name}.{series.name}" for series in declared.series]
        if name in header.inputs:
            inputs[name] = _direct(declared, name)
            queries[_query(name)], owners[name] = name, name
        elif any(part in header.inputs for part in parts):
            inputs[name] = _by_series(declared, parts)
            queries.update({_query(part): part for part in parts})
            owners.update(dict.fromkeys(parts, name))
        else:
            inputs[name] = _direct(declared, name)
            queries[_query(name)] = name
            (quiet if name.startswith("guard: ") else absent).append(name)
    if not owners:
        known = ", ".join(one for one in plan.inputs if not one.startswith("guard: "))
        message = f"the trace has {', '.join(header.inputs)}; the policy's inputs are {known}: none is in both"
        raise ReplayError(message)
    changed = replace(
        plan,
        inputs=inputs,
        replicas=_replicas(plan.replicas, with_names),
        offset=plan.offset if offset is None else offset,
        queries=tuple((query, True) for query in queries),
    )
    unused = tuple(one for one in header.inputs if one not in owners and one not in RESERVED)
    return TracePlan(changed, queries, owners, tuple(quiet), tuple(absent), unused)


def plan_for_recording(plan: PolicyPlan, header: TraceHeader, offset: float | None, with_names: bool) -> TracePlan:
    """The plan as it is, which asks a recording by its own queries; ReplayError where none of them was recorded."""
    owners: dict[str, str] = {}
    absent = []
    for name, declared in plan.inputs.items():
        asked = [[one.query for one in series.alternatives] for series in declared.series]
        if declared.freshness is not None:
            asked.append([declared.freshness])
        if any(all(query not in header.inputs for query in alternatives) for alternatives in asked):
            absent.append(name)
        for query in (query for alternatives in asked for query in alternatives):
            owners.setdefault(query, name)
    if not any(query in header.inputs for query in owners):
        raise ReplayError("none of the policy's queries was recorded: it is a recording of another policy")
    raw = dict(plan.queries)
    changed = replace(
        plan,
        replicas=_replicas(plan.replicas, with_names),
        offset=plan.offset if offset is None else offset,
        queries=tuple((query, raw[query]) for query in owners),
    )
    if with_names and not all(raw[query] for query in owners):
        raise ReplayError("what a server computed cannot be spread over other replicas: use mode as-recorded")
    counted = next((one.name for one in plan.inputs.values() if _counts(one)), None)
    if with_names and counted is not None:
        raise ReplayError(f"{counted} is a counter, and a recording's cannot be spread: use mode as-recorded")
    derived = frozenset(query for query in owners if not raw[query])
    return TracePlan(changed, {query: query for query in owners}, owners, (), tuple(absent), (), derived)


def _counts(plan: InputPlan) -> bool:
    levels = (Take.LATEST, Take.LARGEST)
    return plan.histogram is not None or any(series.take not in levels for series in plan.series)


def _query(name: str) -> str:
    return f"trace {name}"


def _direct(declared: InputPlan, name: str) -> InputPlan:
    """The trace gives the input's own value, in the unit that the policy says: what made it so is done."""
    series = SeriesPlan("value", (Alternative(_query(name), True),))
    return replace(declared, series=(series,), share=None, gate=None, histogram=None, freshness=None, window=0.0)


def _by_series(declared: InputPlan, parts: list[str]) -> InputPlan:
    """The trace gives what the series of a preset gave: rates and shares are made of it as in production."""
    series = tuple(
        replace(one, alternatives=(Alternative(_query(part), True),))
        for one, part in zip(declared.series, parts, strict=True)
    )
    return replace(declared, series=series, freshness=None)


def _replicas(declared: ReplicasPlan | None, with_names: bool) -> ReplicasPlan | None:
    if declared is None:
        return None

    def ask(plan: InputPlan, query: str, take: Take, per: tuple[str, ...] = ()) -> InputPlan:
        series = SeriesPlan("value", (Alternative(query, True),), take)
        return replace(plan, series=(series,), per=per, kind=Kind.GAUGE)

    return ReplicasPlan(
        spec=ask(declared.spec, "sim replicas", Take.LARGEST),
        ready=ask(declared.ready or declared.spec, "sim ready", Take.LATEST),
        pods=ask(declared.spec, "sim pods", Take.LATEST, ("pod",)) if with_names else None,
    )


class Played:
    """The samples of a trace up to now, as far back as somebody looks; times on the samples' clock."""

    def __init__(self, trace: Trace, zero: float, keep: float) -> None:
        self._samples: Iterator[TraceSample] = trace.samples()
        self._zero, self._keep = zero, keep
        self._next: TraceSample | None = next(self._samples, None)
        self._held: dict[str, dict[Labels, deque[Sample]]] = {}

    def advance(self, now: float) -> None:
        """Take in what was sampled up to now."""
        zero, held, following = self._zero, self._held, self._next
        until = now - zero
        while following is not None and following.time <= until:
            self.take_in(following.input, following.labels, Sample(following.value, following.time + zero), held)
            following = next(self._samples, None)
        self._next = following

    def take_in(self, name: str, labels: Labels, sample: Sample, held: dict[str, dict[Labels, deque[Sample]]]) -> None:
        """Keep one sample, and of its series what is not too old."""
        series = held.setdefault(name, {}).setdefault(labels, deque())
        series.append(sample)
        before = sample.time - self._keep
        while series[0].time < before:
            series.popleft()

    def answer(self, name: str, instant: float, lookback: float) -> Answer:
        """What a range selector for the name would see at the instant."""
        found = self._held.get(name)
        if not found:
            return Answer()
        series = [(labels, cut(samples, instant, lookback)) for labels, samples in found.items()]
        if any(samples[-1].time < instant - self._keep for samples in found.values()):
            self._forget(name, instant - self._keep)
        return Answer(tuple([Series(labels, samples) for labels, samples in series if samples]))

    def has(self, name: str) -> bool:
        """Whether a sample of the name was ever seen and is not forgotten."""
        return bool(self._held.get(name))

    def newest(self, name: str, now: float) -> Sample | None:
        """The newest sample of a name that has no labels, up to now."""
        samples = self._held.get(name, {}).get((), ())
        return next((one for one in reversed(samples) if one.time <= now), None)

    def _forget(self, name: str, before: float) -> None:
        for labels, samples in list(self._held[name].items()):
            if samples[-1].time < before:
                del self._held[name][labels]
