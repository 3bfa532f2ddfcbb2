"""Evaluation: from the ticks of a policy's memory to what it publishes now.

A pure function of exactly the ticks it is given, the last of which is now: no clock, no state, no recursion. So two
adapters, a restarted one and a replay give the same bytes from the same answers. The order of the steps is that of the
account: inputs, missing rules, terms, combine, guards, N, floor and ceiling, rounding.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import inf

from adapter.core.bounds import bound
from adapter.core.combining import combine
from adapter.core.demand import Contribution
from adapter.core.explaining import explain, input_why, term_why
from adapter.core.group_memory import GroupMemory
from adapter.core.group_names import names_of
from adapter.core.guard_causes import held
from adapter.core.plans import PolicyPlan
from adapter.core.publishing import Decision, publish
from adapter.core.readings import GroupKey
from adapter.core.reasons import Missing, Reason
from adapter.core.rules import Rules
from adapter.core.signals import GroupSignal, GuardWhy, NoSignal, Signal
from adapter.core.term_demand import contributions, interval
from adapter.core.ticks import Tick


def evaluate(plan: PolicyPlan, rules: Rules, ticks: Sequence[Tick]) -> tuple[GroupSignal, ...]:
    """The signal of every group that is declared or was seen in the memory; `ticks` are oldest first, not empty."""
    spec = plan.policy.spec
    groups = _groups(plan, ticks)
    names = [names_of((group[place] for group in groups), declared) for place, declared in enumerate(spec.by.values())]
    found = []
    for group in groups:
        own = rules.overrides.get(group[0], rules) if group else rules
        outcome = _outcome(GroupMemory(plan, ticks, group), own)
        labels = {label: names[place][group[place]] for place, label in enumerate(spec.by)}
        found.append(GroupSignal({**spec.publish.labels, **labels}, outcome))
    return tuple(found)


def _groups(plan: PolicyPlan, ticks: Sequence[Tick]) -> list[GroupKey]:
    by = plan.policy.spec.by
    if not by:
        return [()]
    seen = {group for tick in ticks for readings in tick.inputs.values() for group in readings.groups if all(group)}
    # Where one of several labels declares no values, there is no saying which groups must be.
    return sorted(seen | set(product(*by.values())))


def _outcome(memory: GroupMemory, rules: Rules) -> Signal | NoSignal:
    demands = [(term, contributions(memory, term)) for term in rules.terms]
    every = [one for _, ones in demands for one in ones]
    intervals = {term.name: interval(memory, term, ones) for term, ones in demands}
    up, down = combine(rules.combine, intervals)
    holds = held(memory, rules.terms, rules.guards)
    n = memory.replicas.n
    if any(one.is_holding and one.direction == "down" for one in holds):
        down = inf if n is None else max(down, n)
    if n is not None and any(one.is_holding and one.direction == "up" for one in holds):
        up = min(up, n)
    up, down, limited = bound(rules.bounds, up, down, memory.past_replicas(rules.bounds.memory))
    is_plain = len(every) == 1 and every[0].up == up and every[0].down == down
    decision = Decision(
        up=up,
        down=down,
        n=memory.replicas.n,
        totals=(every[0].low, every[0].high) if is_plain else None,
        divisor=every[0].component.divisor_up if every else 1.0,
    )
    floor, ceiling, scheduled = rules.limits_at(memory.now.t)
    published = publish(memory.plan.policy.spec.publish, decision, floor, ceiling)
    why = explain(
        memory.plan,
        memory.now.t,
        memory.now.instant,
        memory.replicas,
        decision,
        published,
        [
            input_why(one, memory.reading(name, memory.now), _is_covered(name, every))
            for name, one in memory.plan.inputs.items()
        ],
        [term_why(term, ones, intervals[term.name]) for term, ones in demands],
        [f"combine {rules.combine.text}", *(one.text for one in holds), *limited, *scheduled],
    )
    diagnosis = memory.diagnosis()
    guards = tuple(GuardWhy(one.is_holding, one.direction, one.text) for one in holds)
    if diagnosis is not None or guards:
        why = replace(why, diagnosis=diagnosis, guards=guards)
    missing = _refusal(memory.plan, every) or _undecided(memory, every, decision) or published.missing
    if missing is not None:
        return NoSignal(missing, replace(why, decided_by=f"no signal: {missing.reason}"))
    return Signal(published.milli, _as_of(memory, every), why, published.is_cut)


def _is_covered(name: str, every: Sequence[Contribution]) -> bool:
    """Whether every expected pod reported the input, so that what is bad or late beside them is nobody's."""
    return any(one.component.input == name and one.is_complete and one.missing is None for one in every)


def _refusal(plan: PolicyPlan, every: Sequence[Contribution]) -> Missing | None:
    """Why nothing may be published, whatever N is: an input that must not be missing is, or no term has data."""
    for one in every:
        source = plan.inputs.get(one.component.input)
        if source is not None and source.missing.action == "error" and not one.is_complete:
            return one.missing or Missing(Reason.EMPTY, f"{one.component.input}: no data")
    if not any(one.has_data for one in every):
        causes = (one.missing for one in every if one.missing is not None)
        return next(causes, Missing(Reason.EMPTY, "no term has data"))
    return None


def _undecided(memory: GroupMemory, every: Sequence[Contribution], decision: Decision) -> Missing | None:
    """Why an interval is no signal where N is unknown.

    The last complete demand stands in while it is held, but only in a policy without N: where N is declared and was
    lost, what was published may have been N itself, above that demand.
    """
    if decision.n is not None or decision.up == decision.down:
        return None
    open_ones = [one for one in every if not one.is_complete]
    if not memory.replicas.is_configured and open_ones and all(one.is_held for one in open_ones):
        return None
    causes = (one.missing for one in open_ones if one.missing is not None and not one.is_held)
    unknown = memory.replicas.missing or Missing(Reason.NO_REPLICAS, "the demand is an interval and N is unknown")
    return next(causes, unknown)


def _as_of(memory: GroupMemory, every: Sequence[Contribution]) -> float:
    """The oldest sample that went into the value, that of the replicas included."""
    times = [one.as_of for one in every if one.as_of is not None]
    if memory.replicas.as_of is not None:
        times.append(memory.replicas.as_of)
    return min(times, default=memory.now.instant)
