"""Term planning: from a term of a policy to what it computes, with every default in place.

Done once when a policy is loaded; what cannot be computed is refused here, with its place in the term.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches

from adapter.core.conditions import inputs_in, names_of
from adapter.core.demand import Component, LatencyRule, TermPlan
from adapter.core.expressions import Expression, ExpressionError, parse_expression
from adapter.core.input_plans import InputPlan
from adapter.core.plans import PolicyPlan
from adapter.core.policy import Capacity
from adapter.core.policy_terms import (
    BacklogTerm,
    ConcurrencyTerm,
    Drain,
    ExpressionTerm,
    HeadroomTerm,
    LatencyTerm,
    Shape,
    TermBase,
    ThroughputTerm,
    UpDown,
    UtilizationTerm,
    WindowShape,
    parse_amount,
)
from adapter.core.shaping import ShapePlan, TrendRule, WindowRule
from adapter.core.units import Unit, show_duration

MIN_DRAIN_SECONDS = 60.0


class TermError(ValueError):
    """A term that cannot be computed; `path` is where in the term, `code` what kind of mistake."""

    def __init__(self, path: tuple[str, ...], code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.path, self.code, self.message, self.fix = path, code, message, fix


def plan_term(name: str, term: TermBase, plan: PolicyPlan, capacity: Capacity) -> TermPlan:
    """What a term computes, its shape and the inputs it reads; TermError where it cannot be computed."""
    planned = _with_inputs(_plan(name, term, plan, capacity), plan.inputs)
    return replace(planned, shape=plan_shape(term.shape, capacity))


def _plan(name: str, term: TermBase, plan: PolicyPlan, capacity: Capacity) -> TermPlan:
    inputs = plan.inputs
    when = _expression(term.when, ("when",), plan, wants=bool) if term.when is not None else None
    match term:
        case ThroughputTerm():
            return TermPlan(name, "throughput", _throughput(term, capacity), when)
        case BacklogTerm():
            return TermPlan(name, "backlog", (_backlog(term, capacity, ()),), when)
        case ConcurrencyTerm(concurrency=source, per_replica=each):
            component = Component(source, each.up, each.down, f"{source} ÷ {each.up:g}")
            return TermPlan(name, "concurrency", (component,), when)
        case UtilizationTerm(utilization=source, target=target):
            component = Component(source, target.up, target.down, f"{source} ÷ {target.up:g}", bound=1.0)
            return TermPlan(name, "utilization", (component,), when)
        case HeadroomTerm():
            return TermPlan(name, "headroom", (_headroom(term, inputs[term.headroom]),), when)
        case LatencyTerm():
            period = (capacity.cold_start or MIN_DRAIN_SECONDS) + inputs[term.latency].window
            rule = LatencyRule(term.latency, term.objective, term.max_step, period)
            return TermPlan(name, "latency", when=when, latency=rule)
        case ExpressionTerm():
            up = _expression(term.expression, ("expression",), plan, wants=float)
            down = up if term.down is None else _expression(term.down, ("down",), plan, wants=float)
            return TermPlan(name, "expression", when=when, numbers=(up, down))
        case _:
            raise TypeError(f"no rule for a term of type {type(term).__name__}")


def _with_inputs(term: TermPlan, inputs: Iterable[str]) -> TermPlan:
    """The term with the names of all inputs it reads, its condition aside."""
    read = {component.input for component in term.components}
    if term.latency is not None:
        read.add(term.latency.input)
    for expression in term.numbers or ():
        read |= set(inputs_in(expression.names, inputs))
    return replace(term, inputs=tuple(sorted(read)))


def plan_shape(said: Shape | None, capacity: Capacity) -> ShapePlan | None:
    """How a term is shaped; None where nothing is said."""
    if said is None or (said.up is None and said.down is None and said.trend is None):
        return None
    trend = None
    if said.trend is not None:
        trend = TrendRule(said.trend.window, said.trend.horizon or capacity.cold_start or MIN_DRAIN_SECONDS)
    return ShapePlan(_window(said.up, "min"), _window(said.down, "max"), trend)


def _window(said: WindowShape | None, sustained: str) -> WindowRule | None:
    if said is None:
        return None
    if said.sustained is not None:
        return WindowRule(said.sustained, sustained)
    return WindowRule(said.window or 0.0, said.take if said.take is not None else sustained)


def plan_combination(text: str, terms: Iterable[str]) -> Expression:
    """The expression that combines terms by their names."""
    known: dict[str, float] = {name.replace("-", "_"): 0.5 for name in terms}
    return _compiled(text, ("expression",), known, "term", wants=float)


def plan_condition(text: str, plan: PolicyPlan) -> Expression:
    """The condition of a guard."""
    return _expression(text, (), plan, wants=bool)


def _expression(text: str, path: tuple[str, ...], plan: PolicyPlan, wants: type) -> Expression:
    truths = dict.fromkeys(plan.diagnoses.names, True)
    return _compiled(text, path, {**dict.fromkeys(names_of(plan.inputs), 0.5), **truths}, "input", wants)


def _compiled(text: str, path: tuple[str, ...], known: Mapping[str, float], noun: str, wants: type) -> Expression:
    """A compiled expression whose names exist and whose result is of the kind wanted; TermError otherwise."""
    try:
        found = parse_expression(text)
    except ExpressionError as error:
        raise TermError(path, "expression", f"{error} (column {error.column} of the text)", "correct it") from error
    for name in found.names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            fix = f"did you mean {close[0]}?" if close else f"names: {', '.join(known)}"
            raise TermError(path, f"unknown-{noun}", f'the expression names "{name}", which is no {noun}', fix)
    result = found.evaluate(known)  # each name with a value of its kind
    if result is not None and isinstance(result, bool) is not (wants is bool):
        is_wanted = "true or false" if wants is bool else "a number of replicas"
        message = f"the expression does not give {is_wanted}"
        raise TermError(path, "expression", message, f"write one that gives {is_wanted}")
    return found


def _throughput(term: ThroughputTerm, capacity: Capacity) -> tuple[Component, ...]:
    rate = term.rate_per_replica or capacity.rate_per_replica
    if rate is None:
        message = "rate_per_replica is required: arrivals are divided by it"
        raise TermError(("throughput",), "target-missing", message, RATE_FIX)
    share = term.share
    text = f"{term.throughput} ÷ ({share.up:g} × {rate:g}/s)"
    main = Component(term.throughput, share.up * rate, share.down * rate, text)
    if term.plus is None:
        return (main,)
    return (main, _backlog(term.plus, capacity, ("plus",), rate))


RATE_FIX = "measure it and write capacity: {rate_per_replica: 4.4/s}"


def _backlog(term: Drain, capacity: Capacity, path: tuple[str, ...], fallback: float | None = None) -> Component:
    rate = term.rate_per_replica or fallback or capacity.rate_per_replica
    if rate is None:
        raise TermError(
            (*path, "backlog"), "target-missing", "rate_per_replica is required: a backlog is drained by it", RATE_FIX
        )
    drain = term.drain or max(capacity.cold_start or 0.0, MIN_DRAIN_SECONDS)
    text = f"{term.backlog} ÷ ({rate:g}/s × {show_duration(drain)})"
    return Component(term.backlog, rate * drain, rate * drain, text)


def _headroom(term: HeadroomTerm, plan: InputPlan) -> Component:
    unit = plan.unit
    amount = _amount_reader(unit)
    base = amount(term.base, "base")
    if term.capacity is not None:
        capacity = amount(term.capacity, "capacity")
    elif unit.base is Unit.RATIO:
        capacity = 1.0
    else:
        raise TermError(
            ("headroom",),
            "target-missing",
            f"capacity is required for an input in {unit}",
            "write e.g. capacity: 80GiB",
        )
    keep = term.keep_free
    up, down = (keep.up, keep.down) if isinstance(keep, UpDown) else (keep, keep)
    free_up, free_down = amount(up, "keep_free"), amount(down, "keep_free")
    if free_down < free_up:
        message = (
            f"keep_free.down {free_down:g} is below keep_free.up {free_up:g}, so replicas would go and come in turn"
        )
        raise TermError(("keep_free",), "value-range", message, "keep at least as much free downwards as upwards")
    for name, free in (("up", free_up), ("down", free_down)):
        if capacity - base - free <= 0:
            message = (
                f"no room is left: capacity {capacity:g} - base {base:g} - keep_free.{name} {free:g} is not above 0"
            )
            raise TermError(("keep_free",), "headroom-no-room", message, "lower base or keep_free, or correct capacity")
    text = f"(Σ {plan.name} above {base:g}) ÷ ({capacity:g} - {base:g} - {free_up:g})"
    return Component(plan.name, capacity - base - free_up, capacity - base - free_down, text, base, capacity)


def _amount_reader(unit: Unit) -> Callable[[object, str], float]:
    def read(value: object, key: str) -> float:
        try:
            number = parse_amount(value, unit)
        except ValueError as error:
            raise TermError(
                (key,), "unit-mismatch", f"{error}", f"the input is in {unit}; write {key} in it"
            ) from error
        if number < 0:
            raise TermError((key,), "value-range", f"{value} must not be below 0", f"write {key} as a number from 0")
        return number

    return read
