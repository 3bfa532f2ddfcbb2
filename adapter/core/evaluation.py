"""Evaluation: from the ticks of a policy's memory to what it publishes now.

A pure function of exactly the ticks it is given, the last of which is now: no clock, no state, no recursion. So two
adapters, a restarted one and a replay give the same bytes from the same answers. The order of the steps is that of the
account: inputs, missing rules, terms, combine, N, floor and ceiling, rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import inf

from adapter.core.coverage import Coverage, Seen, cover
from adapter.core.demand import Component, Contribution, TermPlan, add_up, contribute, within_bound
from adapter.core.explaining import explain, input_why, term_why
from adapter.core.plans import PolicyPlan
from adapter.core.policy_inputs import MissingRule
from adapter.core.publishing import Decision, publish
from adapter.core.readings import Answers, GroupKey, InputReadings, Reading, read_input
from adapter.core.reasons import Missing, Reason
from adapter.core.replica_states import ReplicaState, replica_state
from adapter.core.series_readings import Entity, Part
from adapter.core.signals import GroupSignal, NoSignal, Signal


@dataclass(frozen=True, slots=True)
class Tick:
    """Everything read for one instant of the grid: `t` is when it was evaluated, `instant` what it was asked for."""

    t: float
    instant: float
    inputs: dict[str, InputReadings]
    spec: InputReadings | None = None
    ready: InputReadings | None = None
    pods: InputReadings | None = None


def read_tick(plan: PolicyPlan, t: float, answers: Answers) -> Tick:
    """Read all inputs of a policy from the answers asked for `t - offset`."""
    instant = t - plan.offset
    replicas = plan.replicas
    return Tick(
        t=t,
        instant=instant,
        inputs={name: read_input(one, answers, instant) for name, one in plan.inputs.items()},
        spec=read_input(replicas.spec, answers, instant) if replicas else None,
        ready=read_input(replicas.ready, answers, instant) if replicas and replicas.ready else None,
        pods=read_input(replicas.pods, answers, instant) if replicas and replicas.pods else None,
    )


def evaluate(plan: PolicyPlan, terms: Sequence[TermPlan], ticks: Sequence[Tick]) -> tuple[GroupSignal, ...]:
    """The signal of every group that is declared or was seen in the memory; `ticks` are oldest first, not empty."""
    labels = tuple(plan.policy.spec.by)
    fixed = plan.policy.spec.publish.labels
    return tuple(
        GroupSignal({**fixed, **dict(zip(labels, group, strict=True))}, _Group(plan, terms, ticks, group).outcome())
        for group in _groups(plan, ticks)
    )


def _groups(plan: PolicyPlan, ticks: Sequence[Tick]) -> list[GroupKey]:
    by = plan.policy.spec.by
    if not by:
        return [()]
    seen = {group for tick in ticks for readings in tick.inputs.values() for group in readings.groups if all(group)}
    # Where one of several labels declares no values, there is no saying which groups must be.
    return sorted(seen | set(product(*by.values())))


class _Group:
    """One group's evaluation; holds its arguments and what follows from all ticks alike."""

    def __init__(self, plan: PolicyPlan, terms: Sequence[TermPlan], ticks: Sequence[Tick], group: GroupKey) -> None:
        self.plan, self.terms, self.ticks, self.group = plan, terms, ticks, group
        self.now = ticks[-1]
        self._seen: dict[str, Seen] = {}
        self._had_names = any(tick.pods.of(group, "ready pods").values for tick in ticks if tick.pods is not None)
        self.replicas = self.replicas_at(self.now)

    def outcome(self) -> Signal | NoSignal:
        demands = [(term, [self.contribution(component) for component in term.components]) for term in self.terms]
        every = [one for _, contributions in demands for one in contributions]
        intervals = [add_up(contributions) for _, contributions in demands]
        up = max((low for low, _ in intervals), default=0.0)
        decision = Decision(
            up=up,
            down=max(up, max((high for _, high in intervals), default=0.0)),
            n=self.replicas.n,
            totals=(every[0].low, every[0].high) if len(every) == 1 else None,
            divisor=every[0].component.divisor_up if every else 1.0,
        )
        published = publish(self.plan.policy.spec.publish, decision)
        why = explain(
            self.plan,
            self.now.t,
            self.now.instant,
            self.replicas,
            decision,
            published,
            [input_why(one, self.reading(name, self.now)) for name, one in self.plan.inputs.items()],
            [term_why(term, ones, interval) for (term, ones), interval in zip(demands, intervals, strict=True)],
        )
        missing = self.refusal(every) or self.undecided(every, decision) or published.missing
        if missing is not None:
            return NoSignal(missing, replace(why, decided_by=f"no signal: {missing.reason}"))
        return Signal(published.milli, self.as_of(every), why)

    def refusal(self, every: Sequence[Contribution]) -> Missing | None:
        """Why nothing may be published, whatever N is: an input that must not be missing is, or no term has data."""
        for one in every:
            rule = self.plan.inputs[one.component.input].missing
            if rule.action == "error" and not one.is_complete:
                return one.missing or Missing(Reason.EMPTY, f"{one.component.input}: no data")
        if not any(one.has_data for one in every):
            causes = (one.missing for one in every if one.missing is not None)
            return next(causes, Missing(Reason.EMPTY, "no term has data"))
        return None

    def undecided(self, every: Sequence[Contribution], decision: Decision) -> Missing | None:
        """Why an interval is no signal where N is unknown.

        The last complete demand stands in while it is held, but only in a policy without N: where N is declared and was
        lost, what was published may have been N itself, above that demand.
        """
        if decision.n is not None or decision.up == decision.down:
            return None
        open_ones = [one for one in every if not one.is_complete]
        if not self.replicas.is_configured and open_ones and all(one.is_held for one in open_ones):
            return None
        causes = (one.missing for one in open_ones if one.missing is not None and not one.is_held)
        unknown = self.replicas.missing or Missing(Reason.NO_REPLICAS, "the demand is an interval and N is unknown")
        return next(causes, unknown)

    def as_of(self, every: Sequence[Contribution]) -> float:
        """The oldest sample that went into the value, that of the replicas included."""
        times = [one.as_of for one in every if one.as_of is not None]
        if self.replicas.as_of is not None:
            times.append(self.replicas.as_of)
        return min(times, default=self.now.instant)

    def reading(self, name: str, tick: Tick) -> Reading:
        return tick.inputs[name].of(self.group, name)

    def coverage(self, component: Component, tick: Tick, replicas: ReplicaState) -> Coverage:
        plan = self.plan.inputs[component.input]
        reading = within_bound(plan, component, self.reading(component.input, tick))
        return cover(plan, reading, replicas, self.seen(component.input))

    def seen(self, name: str) -> Seen:
        """The pods of an input within the memory, each with all its parts."""
        if name not in self._seen:
            seen: dict[Entity, frozenset[Part]] = {}
            for tick in self.ticks:
                for entity, measured in self.reading(name, tick).values.items():
                    before = seen.get(entity, measured.parts)
                    seen[entity] = before if before >= measured.parts else before | measured.parts
            self._seen[name] = seen
        return self._seen[name]

    def replicas_at(self, tick: Tick) -> ReplicaState:
        if tick.spec is None:
            return ReplicaState()
        ready = None if tick.ready is None else tick.ready.of(self.group, "ready pods")
        pods = None if tick.pods is None else tick.pods.of(self.group, "names of ready pods")
        return replica_state(tick.spec.of(self.group, "replicas"), ready, pods, had_names=self._had_names)

    def contribution(self, component: Component) -> Contribution:
        covered = self.coverage(component, self.now, self.replicas)
        current = contribute(component, covered)
        if current.is_complete:
            return current
        rule = self.plan.inputs[component.input].missing
        if rule.action == "assume" and rule.assume is not None:
            current = self.assumed(component, covered, rule, rule.assume)
        elif rule.action == "hold" and rule.hold is not None:
            current = self.held(component, current, rule, rule.hold)
        return current

    def assumed(self, component: Component, covered: Coverage, rule: MissingRule, value: float) -> Contribution:
        """Every pod that is missing counts as the value assumed; one, where nobody knows how many there are."""
        count = 1 if covered.missing_pods == inf else covered.missing_pods
        current = contribute(component, covered)
        low = current.low + count * component.amount(value)
        is_allowed = rule.scale_down == "allowed"
        return replace(
            current,
            low=low,
            high=low if is_allowed else inf,
            has_data=True,
            is_complete=is_allowed,
            as_of=self.now.instant if current.as_of is None else current.as_of,
        )

    def held(self, component: Component, current: Contribution, rule: MissingRule, hold: float) -> Contribution:
        """The last complete value within `hold`, its age counted from its oldest sample, never renewed."""
        for tick in reversed(self.ticks[:-1]):
            if self.now.instant - tick.instant > hold:
                break  # no sample in it is younger than its instant
            covered = self.coverage(component, tick, self.replicas_at(tick))
            if not covered.is_complete:
                continue
            last = contribute(component, covered)
            taken = tick.instant if last.as_of is None else last.as_of
            if self.now.instant - taken > hold:
                break
            high = max(last.low, current.low) if rule.scale_down == "allowed" else inf
            return replace(current, low=max(last.low, current.low), high=high, has_data=True, as_of=taken, is_held=True)
        return current
