"""Demand: what each term asks for, as an interval of replicas [U, D].

U replicas at least are needed, no more than D can be justified. Every term is a sum over pods, divided by what one
replica takes: Σ max(0, value - base) ÷ divisor. Where data is missing U keeps what is known and D grows by what could
be hidden, so that losing data can never scale down.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import fsum, inf

from adapter.core.coverage import Coverage
from adapter.core.plans import InputPlan
from adapter.core.policy import Capacity
from adapter.core.policy_terms import (
    BacklogTerm,
    ConcurrencyTerm,
    Drain,
    HeadroomTerm,
    LatencyTerm,
    TermBase,
    ThroughputTerm,
    UpDown,
    UtilizationTerm,
    parse_amount,
)
from adapter.core.readings import Reading
from adapter.core.reasons import Missing, Reason
from adapter.core.units import Unit, show_duration

MIN_DRAIN_SECONDS = 60.0
BOUND_SLACK = 1.05
"""A value above its bound by more than this is a unit mistaken, not a measurement."""


@dataclass(frozen=True, slots=True)
class Component:
    """One input's part of a term: Σ max(0, value - base) ÷ divisor, a pod hiding at most `bound` - base."""

    input: str
    divisor_up: float
    divisor_down: float
    text: str
    base: float = 0.0
    bound: float | None = None

    def amount(self, value: float) -> float:
        """What one pod's value adds, never more than it may hide: else a lost 1.04 would lower D by 0.04."""
        known = value if self.bound is None else min(value, self.bound)
        return max(0.0, known - self.base)

    @property
    def hidden(self) -> float:
        """What one pod that does not report may add at most."""
        return inf if self.bound is None else self.bound - self.base


@dataclass(frozen=True, slots=True)
class TermPlan:
    """A term as the components whose demands add up."""

    name: str
    kind: str
    components: tuple[Component, ...]


class TermError(ValueError):
    """A term that cannot be computed; `path` is where in the term, `code` what kind of mistake."""

    def __init__(self, path: tuple[str, ...], code: str, message: str, fix: str) -> None:
        super().__init__(message)
        self.path, self.code, self.message, self.fix = path, code, message, fix


def plan_term(name: str, term: TermBase, inputs: dict[str, InputPlan], capacity: Capacity) -> TermPlan | None:
    """The components of a term; None for a term that this version reads and does not evaluate; TermError if wrong."""
    match term:
        case ThroughputTerm():
            return TermPlan(name, "throughput", _throughput(term, capacity))
        case BacklogTerm():
            return TermPlan(name, "backlog", (_backlog(term, capacity, ()),))
        case ConcurrencyTerm():
            text = f"{term.concurrency} ÷ {term.per_replica:g}"
            return TermPlan(
                name, "concurrency", (Component(term.concurrency, term.per_replica, term.per_replica, text),)
            )
        case UtilizationTerm():
            text = f"{term.utilization} ÷ {term.target:g}"
            component = Component(term.utilization, term.target, term.target, text, bound=1.0)
            return TermPlan(name, "utilization", (component,))
        case HeadroomTerm():
            return TermPlan(name, "headroom", (_headroom(term, inputs[term.headroom]),))
        case LatencyTerm():
            return None
        case _:
            raise TypeError(f"no rule for a term of type {type(term).__name__}")


def _throughput(term: ThroughputTerm, capacity: Capacity) -> tuple[Component, ...]:
    rate = term.rate_per_replica or capacity.rate_per_replica
    if rate is None:
        raise TermError(
            ("throughput",), "target-missing", "rate_per_replica is required: arrivals are divided by it", RATE_FIX
        )
    divisor = term.share * rate
    main = Component(term.throughput, divisor, divisor, f"{term.throughput} ÷ ({term.share:g} × {rate:g}/s)")
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


@dataclass(frozen=True, slots=True)
class Contribution:
    """One component's totals and demand: [up, down] in replicas, [low, high] in the input's own unit."""

    component: Component
    low: float
    high: float
    has_data: bool
    is_complete: bool
    as_of: float | None
    missing: Missing | None
    is_held: bool = False

    @property
    def up(self) -> float:
        """U: what is needed at least."""
        return self.low / self.component.divisor_up

    @property
    def down(self) -> float:
        """D: what can be justified at most."""
        return self.high / self.component.divisor_down


def contribute(component: Component, covered: Coverage) -> Contribution:
    """The contribution of what was read, before any rule for missing data."""
    known = fsum(component.amount(measured.value) for measured in covered.values)
    has_values = bool(covered.values) or covered.is_complete
    unsure = covered.missing_pods + covered.doubtful_pods
    hidden = unsure * component.hidden if unsure else 0.0
    return Contribution(
        component=component,
        low=known,
        high=known + hidden if has_values else inf,
        has_data=has_values,
        is_complete=covered.is_complete,
        as_of=min((measured.time for measured in covered.values), default=None),
        missing=covered.missing,
    )


def add_up(contributions: Sequence[Contribution]) -> tuple[float, float]:
    """The demand interval of a term: its components' demands add up."""
    up = fsum(one.up for one in contributions)
    return up, max(up, fsum(one.down for one in contributions))


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
