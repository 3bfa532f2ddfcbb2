"""Carrying: what samples of r recorded replicas say about s simulated ones, and where that cannot be told.

The load on a policy's open inputs (arrivals, queues, requests in flight) divides over replicas, so a total stays what
it was. A share of a resource divides too, until a replica is full: then how much more was wanted is not in the trace. A
latency, a temperature, a hit ratio belong to the number of replicas that there was. What cannot be carried is played as
it was and told, and makes the run inconclusive; it is never guessed.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby
from math import isfinite

from adapter.core.conditions import inputs_in
from adapter.core.demand import TermPlan
from adapter.core.input_kinds import Kind
from adapter.core.input_plans import InputPlan
from adapter.core.plans import PolicyPlan
from adapter.core.rules import Rules
from adapter.core.samples import Answer, Labels, Sample, Series
from adapter.core.units import Unit
from sim.replay.parameters import Mode
from sim.replay.playback import Played, TracePlan
from sim.replay.pods import Pods, cut
from sim.traces.trace import READY, REPLICAS, Trace, TraceHeader, TraceSample

FULL = 0.99
"""A replica that reports this share of its bound may have wanted more."""


class Carry(StrEnum):
    """How an input changes with the number of replicas."""

    WHOLE = "whole"  # one number of no pod, such as a gateway's
    DIVIDES = "divides"  # the total stays
    BOUNDED = "bounded"  # the total stays while no replica is full
    LOCAL = "local"  # says nothing about another number of replicas


@dataclass(frozen=True, slots=True)
class CarryRule:
    """The rule of one input; base and bound in the unit of its samples."""

    carry: Carry
    base: float = 0.0
    bound: float | None = None


@dataclass(slots=True)
class Uncarried:
    """What could not be carried, counted: of one input, for one cause; times on the trace's clock."""

    input: str
    cause: str
    rows: int
    first: float
    last: float


def carry_rules(rules: Rules, plan: TracePlan) -> dict[str, CarryRule]:
    """The rule of each of the trace's names that the policy reads."""
    terms = [*rules.terms, *(term for own in rules.overrides.values() for term in own.terms)]
    used = _used(rules, terms, plan.plan)
    return {
        name: _rule(plan.plan.inputs[owner], owner, terms)
        for name, owner in plan.owners.items()
        if owner in used or owner.startswith("guard: ")
    }


def _used(rules: Rules, terms: Iterable[TermPlan], plan: PolicyPlan) -> set[str]:
    expressions = [term.when for term in terms] + [guard.condition for guard in rules.guards]
    names = {name for one in expressions if one is not None for name in one.names}
    if any(name in plan.diagnoses.names for name in names):
        return set(plan.inputs)
    return {name for term in terms for name in term.inputs} | set(inputs_in(names, plan.inputs))


def _rule(source: InputPlan, name: str, terms: Iterable[TermPlan]) -> CarryRule:
    if "pod" not in source.per and source.pod_place is None and source.histogram is None:
        return CarryRule(Carry.WHOLE)
    local = (Kind.HISTOGRAM, Kind.CONDITION, Kind.EVENT, Kind.COMPLETIONS, Kind.BOUNDED)
    if source.kind in local or source.unit in (Unit.SECONDS, Unit.CELSIUS):
        return CarryRule(Carry.LOCAL)
    components = [one for term in terms for one in term.components if one.input == name]
    scale = 100.0 if source.unit is Unit.PERCENT else 1.0
    if components:
        if len({(one.base, one.bound) for one in components}) > 1:
            return CarryRule(Carry.LOCAL)  # two terms count from different bases: no one spread fits both
        bound = components[0].bound
        carry = Carry.DIVIDES if bound is None else Carry.BOUNDED
        return CarryRule(carry, components[0].base * scale, None if bound is None else bound * scale)
    if source.unit.base is Unit.RATIO:
        return CarryRule(Carry.BOUNDED, 0.0, scale)
    return CarryRule(Carry.DIVIDES)


class Carrier:
    """The trace as the simulated replicas would have shown it."""

    def __init__(
        self,
        trace: Trace,
        zero: float,
        keep: float,
        mode: Mode,
        rules: Mapping[str, CarryRule],
        pods: Pods,
        uncarried: dict[tuple[str, str], Uncarried],
    ) -> None:
        self._mode, self._rules, self._pods, self._zero = mode, rules, pods, zero
        self._uncarried = uncarried
        header = trace.header
        self._tells_ready = READY in header.inputs
        self._replicas_column = READY if self._tells_ready else REPLICAS if REPLICAS in header.inputs else None
        self._has_pods = header.has_pods
        self._column: float | None = None
        self._reporting: deque[Sample] = deque()
        self._keep = keep
        self.notes = _notes(mode, rules, header)
        is_plain = not header.has_pods and mode is Mode.AS_RECORDED
        # Nothing to judge and nothing to spread where no pod is named and nobody says how many there were.
        is_judged = not is_plain or self._replicas_column is not None
        self._played = Played(_Carried(trace, self) if is_judged else trace, zero, keep)
        self.advance = self._played.advance
        self.answer = self._played.answer
        self.has = self._played.has

    def recorded_ready(self, instant: float) -> Answer | None:
        """The ready pods as they were recorded, in mode as-recorded; None where they are the simulated ones."""
        if self._mode is not Mode.AS_RECORDED:
            return None
        if self._tells_ready:
            return self._played.answer(READY, instant, self._keep)
        if not self._has_pods:
            return None
        samples = cut(self._reporting, instant, self._keep)
        return Answer((Series((), samples),)) if samples else Answer()

    def row(self, time: float, samples: list[TraceSample]) -> Iterator[TraceSample]:
        """The samples of one time as they are to be played."""
        for sample in samples:
            if sample.input == self._replicas_column:
                self._column = sample.value
        reporting = {label[1] for sample in samples for label in sample.labels if label[0] == "pod"}
        if reporting:
            self._reporting.append(Sample(float(len(reporting)), time + self._zero))
            while self._reporting[0].time < time + self._zero - self._keep:
                self._reporting.popleft()
        ready = self._pods.ready_names(time + self._zero)
        for name, group in groupby(sorted(samples, key=lambda sample: sample.input), key=lambda sample: sample.input):
            members = list(group)
            rule = self._rules.get(name)
            if rule is None or rule.carry is Carry.WHOLE:
                yield from members
                continue
            recorded = len({_pod(sample) for sample in members} - {""}) or self._column
            self._judge(time, rule, members, recorded, len(ready))
            if self._mode is Mode.TOTALS_KEPT:
                yield from _spread(rule, members, recorded, ready)
            else:
                yield from members

    def _judge(
        self, time: float, rule: CarryRule, members: list[TraceSample], recorded: float | None, simulated: int
    ) -> None:
        name = members[0].input
        if recorded is None:
            is_plain_total = rule.carry is Carry.DIVIDES and rule.base == 0
            if self._mode is Mode.TOTALS_KEPT and not is_plain_total:
                cause = "the trace does not say how many replicas it is of (columns by pod, or replicas)"
                self._tell(time, name, cause)
            return
        if recorded == simulated or rule.carry is Carry.DIVIDES:
            return
        if rule.carry is Carry.LOCAL:
            self._tell(time, name, "it belongs to the recorded number of replicas, which is not the simulated one")
            return
        bound = rule.bound or 0.0
        if simulated > recorded and any(sample.value >= FULL * bound for sample in members):
            self._tell(time, name, "a recorded replica was full, so what more of them would have shown is not known")
        elif simulated < recorded and _total(rule, members, recorded) > simulated * (bound - rule.base):
            self._tell(time, name, "the simulated replicas would be full, and what then waits is not in the trace")

    def _tell(self, time: float, name: str, cause: str) -> None:
        found = self._uncarried.get((name, cause))
        if found is None:
            self._uncarried[name, cause] = Uncarried(name, cause, 1, time, time)
        else:
            found.rows += 1
            found.last = time


class _Carried:
    """The trace with each row as the carrier plays it."""

    def __init__(self, trace: Trace, carrier: Carrier) -> None:
        self._trace, self._carrier = trace, carrier

    @property
    def header(self) -> TraceHeader:
        return self._trace.header

    def samples(self) -> Iterator[TraceSample]:
        for time, row in groupby(self._trace.samples(), key=lambda sample: sample.time):
            yield from self._carrier.row(time, list(row))


def _pod(sample: TraceSample) -> str:
    return next((value for label, value in sample.labels if label == "pod"), "")


def _total(rule: CarryRule, members: list[TraceSample], recorded: float) -> float:
    """What divides: the sum of what is above the base; a ratio of no pod is the mean of the recorded ones."""
    values = [sample.value for sample in members if isfinite(sample.value)]
    above = sum(max(0.0, value - rule.base) for value in values)
    is_mean = rule.carry is Carry.BOUNDED and not any(_pod(sample) for sample in members)
    return above * recorded if is_mean else above


def _spread(
    rule: CarryRule, members: list[TraceSample], recorded: float | None, ready: list[str]
) -> Iterator[TraceSample]:
    """The samples of the simulated pods: the total in equal parts, or each value where the numbers are equal."""
    if not any(_pod(sample) for sample in members) and (recorded is None or rule.carry is not Carry.BOUNDED):
        yield from members  # one number for all: a total stays what it is, whoever it is spread over
        return
    groups: dict[Labels, list[TraceSample]] = {}
    for sample in members:
        rest = tuple(label for label in sample.labels if label[0] != "pod")
        groups.setdefault(rest, []).append(sample)
    for rest, found in groups.items():
        first = found[0]
        if rule.carry is Carry.LOCAL:
            values = [sample.value for sample in found]
            parts = [values[index % len(values)] for index in range(len(ready))]
        else:
            bad = [sample.value for sample in found if not isfinite(sample.value)][: len(ready)]
            each = rule.base + _total(rule, found, recorded or 1.0) / max(1, len(ready))
            if rule.bound is not None:
                each = min(each, rule.bound)
            parts = [*bad, *([each] * (len(ready) - len(bad)))]
        for name, value in zip(ready, parts, strict=True):
            yield TraceSample(first.time, first.input, value, tuple(sorted((*rest, ("pod", name)))))


def _notes(mode: Mode, rules: Mapping[str, CarryRule], header: TraceHeader) -> list[str]:
    notes = []
    says_number = header.has_pods or REPLICAS in header.inputs or READY in header.inputs
    if mode is Mode.AS_RECORDED and not says_number:
        local = [name for name, rule in rules.items() if rule.carry in (Carry.LOCAL, Carry.BOUNDED)]
        if local:
            names = ", ".join(local)
            notes.append(f"the trace does not say how many replicas it is of: {names} stands as it is at any number")
    if mode is Mode.AS_RECORDED and header.has_pods and READY not in header.inputs:
        notes.append("the trace has no column ready: the pods that report are taken for the ready ones")
    if mode is Mode.TOTALS_KEPT and any("." in name for name in rules):
        notes.append("series of presets (INPUT.SERIES) are counters of recorded pods and cannot be spread")
    return notes
