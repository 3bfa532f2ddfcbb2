"""Term demand: what a term asks for, from one group's memory.

A sum over pods with the rule for missing data; a latency, which steps at most once a period; an expression. Whatever
the kind, the answer is contributions whose demands add up to [U, D].
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

from adapter.core.conditions import inputs_in
from adapter.core.coverage import Coverage, cover
from adapter.core.demand import BOUND_SLACK, Component, Contribution, LatencyRule, TermPlan, add_up, contribute
from adapter.core.expressions import Expression
from adapter.core.group_memory import GroupMemory
from adapter.core.input_plans import InputPlan
from adapter.core.policy_inputs import MissingRule
from adapter.core.reasons import Missing, Reason
from adapter.core.series_readings import Reading
from adapter.core.shaping import Point, shape
from adapter.core.ticks import Tick

_UNKNOWN_WHEN = Missing(Reason.EMPTY, "what a term's when names has no value")


def interval(memory: GroupMemory, term: TermPlan, ones: Sequence[Contribution]) -> tuple[float, float]:
    """U and D of a term now, from its contributions now, and shaped by those of the ticks before where it says so."""
    up, down = add_up(ones)
    if term.shape is None:
        return up, down
    points = []
    for place, tick in enumerate(memory.ticks[:-1]):
        if memory.now.t - tick.t < term.shape.window:
            points.append(Point(tick.t, *add_up(contributions(memory.until(place), term))))
    return shape(term.shape, [*points, Point(memory.now.t, up, down)])


def contributions(memory: GroupMemory, term: TermPlan) -> list[Contribution]:
    """What a term adds up to; where its `when` is false it asks for nothing, where that is unknown for no more."""
    if term.latency is not None:
        ones = [latency(memory, term.latency)]
    elif term.numbers is not None:
        ones = [expressed(memory, *term.numbers)]
    else:
        ones = [linear(memory, component) for component in term.components]
    if term.when is None:
        return ones
    match memory.evaluated(term.when, memory.now):
        case True:
            return ones
        case False:
            return [
                replace(one, low=0.0, high=0.0, is_complete=True, missing=None, text="when is false") for one in ones
            ]
        case _:
            return [replace(one, low=0.0, is_complete=False, missing=one.missing or _UNKNOWN_WHEN) for one in ones]


def coverage(memory: GroupMemory, component: Component, tick: Tick) -> Coverage:
    """What of a component's input counts at a tick, and how many pods are missing."""
    plan = memory.plan.inputs[component.input]
    reading = within_bound(plan, component, memory.reading(component.input, tick))
    return cover(plan, reading, memory.replicas_at(tick), memory.seen(component.input))


def linear(memory: GroupMemory, component: Component) -> Contribution:
    """The contribution of one input, with the rule for missing data applied where it is not complete."""
    covered = coverage(memory, component, memory.now)
    current = contribute(component, covered)
    if current.is_complete:
        return current
    rule = memory.plan.inputs[component.input].missing
    if rule.action == "assume" and rule.assume is not None:
        current = _assumed(memory, component, covered, rule, rule.assume)
    elif rule.action == "hold" and rule.hold is not None:
        current = _held(memory, component, current, rule, rule.hold)
    return current


def _assumed(
    memory: GroupMemory, component: Component, covered: Coverage, rule: MissingRule, value: float
) -> Contribution:
    """Every pod that is missing counts as the value assumed; one, where nobody knows how many there are."""
    count = 1 if covered.missing_pods == inf else covered.missing_pods
    current = contribute(component, covered)
    unit = memory.plan.inputs[component.input].unit
    low = current.low + count * component.amount(unit.to_base(value))
    is_allowed = rule.scale_down == "allowed"
    return replace(
        current,
        low=low,
        high=low if is_allowed else inf,
        has_data=True,
        is_complete=is_allowed,
        as_of=memory.now.instant if current.as_of is None else current.as_of,
    )


def _held(
    memory: GroupMemory, component: Component, current: Contribution, rule: MissingRule, hold: float
) -> Contribution:
    """The last complete value within `hold`, its age counted from its oldest sample, never renewed."""
    for tick in reversed(memory.ticks[:-1]):
        if memory.now.instant - tick.instant > hold:
            break  # no sample in it is younger than its instant
        covered = coverage(memory, component, tick)
        if not covered.is_complete:
            continue
        last = contribute(component, covered)
        taken = tick.instant if last.as_of is None else last.as_of
        if memory.now.instant - taken > hold:
            break
        high = max(last.low, current.low) if rule.scale_down == "allowed" else inf
        return replace(current, low=max(last.low, current.low), high=high, has_data=True, as_of=taken, is_held=True)
    return current


def within_bound(plan: InputPlan, component: Component, reading: Reading) -> Reading:
    """The reading without values above what one pod can report: such a value is a unit mistaken."""
    if component.bound is None:
        return reading
    limit = component.bound * BOUND_SLACK
    over = {entity: measured for entity, measured in reading.values.items() if measured.value > limit}
    if not over:
        return reading
    bad = {
        entity: Missing(
            Reason.TOO_LARGE,
            f"{plan.name}: {'/'.join(entity)} reports {measured.value:g}, at most {component.bound:g}: a wrong unit?",
        )
        for entity, measured in sorted(over.items())
    }
    values = {entity: measured for entity, measured in reading.values.items() if entity not in over}
    failure = reading.failure or (None if values else next(iter(bad.values())))
    return replace(reading, values=values, bad={**reading.bad, **bad}, failure=failure)


def latency(memory: GroupMemory, rule: LatencyRule) -> Contribution:
    """Ready replicas × percentile ÷ objective, decided once a period at the first tick that is too slow.

    Periods lie on the grid of the clock, so that the step is a function of the ticks alone: were it taken anew at
    each tick, replicas that the last step added would be multiplied again before they are ready.
    """
    period_start = memory.now.t // rule.period * rule.period
    wanted, text = 0.0, f"{rule.input} is within {rule.objective:g} s"
    for tick in memory.ticks:
        measured = next(iter(memory.reading(rule.input, tick).values.values()), None)
        ready = memory.replicas_at(tick).ready
        if tick.t < period_start or measured is None or ready is None or measured.value <= rule.objective:
            continue
        factor = min(measured.value / rule.objective, 1 + rule.max_step)
        wanted = ready * factor
        text = f"{ready} ready × min({measured.value:.6g} ÷ {rule.objective:g}, {1 + rule.max_step:g}) = {wanted:.6g}"
        break
    now = memory.reading(rule.input, memory.now)
    as_of = next((measured.time for measured in now.values.values()), None)
    missing = now.failure
    if missing is None and memory.replicas.ready is None:
        missing = memory.replicas.missing or Missing(Reason.NO_REPLICAS, "the number of ready pods is unknown")
    component = Component(rule.input, 1.0, 1.0, text)
    high = wanted if missing is None else inf
    return Contribution(component, wanted, high, missing is None, missing is None, as_of, missing, text=text)


def expressed(memory: GroupMemory, up: Expression, down: Expression) -> Contribution:
    """Demand by expressions: U, and D where it is given; below 0 counts as 0."""
    low, high = memory.evaluated(up, memory.now), memory.evaluated(down, memory.now)
    names = inputs_in((*up.names, *down.names), memory.plan.inputs)
    covered = [coverage(memory, Component(name, 1.0, 1.0, ""), memory.now) for name in names]
    times = [measured.time for one in covered for measured in one.values]
    as_of = min(times, default=None)
    component = Component(names[0] if names else "", 1.0, 1.0, up.text)
    if isinstance(low, float) and isinstance(high, float):
        # A number over the pods that report says nothing about those that do not.
        bad = next((one.missing for one in covered if not one.is_complete), None)
        known, most = max(0.0, low), max(0.0, low, high)
        text = f"{up.text} = {known:.6g}"
        return Contribution(component, known, inf if bad else most, True, bad is None, as_of, bad, text=text)
    causes = (one.missing for one in covered if one.missing is not None)
    unknown = Missing(Reason.NOT_A_NUMBER, f"{up.text} gives no number")
    return Contribution(component, 0.0, inf, False, False, as_of, next(causes, unknown), text=up.text)
