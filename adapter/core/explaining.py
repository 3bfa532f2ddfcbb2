"""Explaining: the account of a signal, made from the very numbers that decided it."""

from collections.abc import Sequence
from math import fsum

from adapter.core.demand import Contribution, TermPlan
from adapter.core.input_plans import InputPlan
from adapter.core.plans import PolicyPlan
from adapter.core.publishing import Decision, Published, Side
from adapter.core.replica_states import ReplicaState
from adapter.core.series_readings import Reading
from adapter.core.signals import InputWhy, TermWhy, Why, finite_or_none
from adapter.core.units import show_duration


def input_why(plan: InputPlan, reading: Reading, is_covered: bool) -> InputWhy:
    """What was read for one input, and what was wrong with it; covered, what is left of pods that went is not wrong."""
    values = [measured.value for measured in reading.values.values()]
    missing = None if is_covered else reading.failure or next(iter(reading.bad.values()), None)
    one = values[0] if len(values) == 1 else None
    return InputWhy(
        name=plan.name,
        unit=plan.unit.base,
        pods=len(values),
        total=one if one is not None else fsum(values) if values else None,
        smallest=one if one is not None else min(values, default=None),
        largest=one if one is not None else max(values, default=None),
        as_of=min((measured.time for measured in reading.values.values()), default=None),
        reason=missing.reason if missing else None,
        message=missing.message if missing else "; ".join(reading.notes),
    )


def term_why(term: TermPlan, contributions: Sequence[Contribution], interval: tuple[float, float]) -> TermWhy:
    """One term's demand with its arithmetic written out."""
    parts = []
    for one in contributions:
        if one.text:
            parts.append(one.text if one.is_complete or one.missing is None else f"{one.text} ({one.missing.reason})")
            continue
        text = f"{one.component.text} = {one.low:.6g} ÷ {one.component.divisor_up:.6g} = {one.up:.6g}"
        if one.is_held:
            text += f" (held from {one.as_of:.0f})"
        elif one.missing is not None:
            text += f" ({one.missing.reason})"
        parts.append(text)
    up, down = interval
    return TermWhy(term.name, term.kind, up, finite_or_none(down), "; plus ".join(parts))


def decided_by(decision: Decision, terms: Sequence[TermWhy]) -> str:
    """Which term, or N, made the value."""
    up = max(terms, key=lambda term: term.up, default=None)
    match decision.side:
        case Side.UP:
            name = up.name if up is not None else "none"
            above = "N unknown" if decision.n is None else f"above N {decision.n:g}"
            return f"term {name}: U {decision.up:.6g}, {above}"
        case Side.DOWN:
            bounded = max(terms, key=lambda term: term.down if term.down is not None else float("inf"), default=None)
            name = bounded.name if bounded is not None else "none"
            return f"term {name}: D {decision.down:.6g}, below N {decision.n:g}"
        case Side.HELD:
            upper = "∞" if finite_or_none(decision.down) is None else f"{decision.down:.6g}"
            return f"N {decision.n:g}, within [{decision.up:.6g}, {upper}]"


def explain(
    plan: PolicyPlan,
    t: float,
    instant: float,
    replicas: ReplicaState,
    decision: Decision,
    published: Published,
    inputs: Sequence[InputWhy],
    terms: Sequence[TermWhy],
    steps: Sequence[str],
) -> Why:
    """The whole account of one evaluation."""
    asked = f"asked at t - {show_duration(plan.offset)}"
    notes = tuple(one.message for one in inputs if one.reason is None and one.message)
    if replicas.missing is not None:
        notes = (*notes, replicas.missing.message)
    return Why(
        t=t,
        instant=instant,
        inputs=tuple(inputs),
        terms=tuple(terms),
        up=finite_or_none(decision.up),
        down=finite_or_none(decision.down),
        n=replicas.n,
        ready=replicas.ready,
        decided_by=decided_by(decision, terms),
        steps=(asked, *steps, *published.steps),
        notes=notes,
    )
