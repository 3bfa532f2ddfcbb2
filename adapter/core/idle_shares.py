"""Idle shares: how many replicas an idle replica asks for, computed from what is known before anything runs.

A term is a scaling signal only if the load it measures divides when replicas are added. What an idle replica shows is
asked for again by each new one: with i replicas asked for by each idle one, the loop settles at load ÷ (1 - i), and
from i = 1 it never does. Worked: 72 of 80 GiB are used when idle and the target is 80 %, so i = 0.9 ÷ 0.8 = 1.125, and
the replicas go 1, 2, 3, … 9, 11, … to 32 in 17 syncs without any load.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from adapter.core.demand import Component, TermPlan
from adapter.core.lint_subject import Found, Subject
from adapter.core.policy_terms import HeadroomTerm, UtilizationTerm, parse_amount
from adapter.core.units import Unit

WARNED_ABOVE = 0.1
REFUSED_FROM = 0.9

IDLE_FIX = (
    "use headroom with base: what an idle replica uses; where the engine is set up otherwise, write idle on {input}"
)


@dataclass(frozen=True, slots=True)
class IdleUse:
    """What one idle replica shows of an input, in its base unit, and who says so."""

    amount: float
    source: str


def find(subject: Subject) -> Iterator[Found]:
    """Warnings: terms whose idle replicas ask for part of a replica each, or for nobody knows how much."""
    for term in subject.terms:
        share, words, name = _share(subject, term)
        place = ("spec", "terms", term.name)
        if WARNED_ABOVE < share < REFUSED_FROM:
            message = (
                f"an idle replica asks for {words} = {share:.3g} replicas,"
                f" so the loop settles at {1 / (1 - share):.3g} times what the load needs"
            )
            yield Found(place, "idle-share", message, IDLE_FIX.format(input=name))
        elif _is_unknown(subject, term):
            message = (
                f"what an idle replica shows of {term.components[0].input} is not known, and its weights sit on every"
                " replica: each new one may raise what is asked for"
            )
            fix = f"use headroom with base: what an idle replica uses, or write idle on {term.components[0].input}"
            yield Found(place, "idle-share", message, fix)


def find_runaway(subject: Subject) -> Iterator[Found]:
    """Errors: terms whose idle replicas ask for a whole replica each, or nearly."""
    for term in subject.terms:
        share, words, name = _share(subject, term)
        if share >= REFUSED_FROM:
            end = "never settles" if share >= 1 else f"settles at {1 / (1 - share):.3g} times what the load needs"
            message = f"an idle replica asks for {words} = {share:.4g} replicas, so the loop {end}"
            yield Found(("spec", "terms", term.name), "idle-runaway", message, IDLE_FIX.format(input=name))


def _share(subject: Subject, term: TermPlan) -> tuple[float, str, str]:
    """The replicas that an idle one asks for, how that came about, and the input that makes most of it."""
    shares = []
    for component in term.components:
        idle = idle_use(subject, component)
        if idle is not None:
            share = component.amount(idle.amount) / component.divisor_up
            shares.append((share, _worked(component, idle), component.input))
    if not shares:
        return 0.0, "", ""
    return sum(share for share, _, _ in shares), " + ".join(words for _, words, _ in shares), max(shares)[2]


def _worked(component: Component, idle: IdleUse) -> str:
    above = f"({idle.amount:.4g} - {component.base:.4g})" if component.base else f"{idle.amount:.4g}"
    return f"{above} ÷ {component.divisor_up:.4g} ({component.input}: {idle.source})"


def idle_use(subject: Subject, component: Component) -> IdleUse | None:
    """What an idle replica shows: as the input says, as a headroom's base does, or as its engine allocates."""
    declared, plan = subject.policy.spec.inputs[component.input], subject.plan.inputs[component.input]
    if declared.idle is not None:
        return IdleUse(parse_amount(declared.idle, plan.unit), "idle as declared")
    if component.base > 0:
        return None  # the base says it: nothing is left above
    engine = subject.preallocating_engine
    if not plan.needs_base or not engine:
        return None
    share = subject.library.preallocated(engine)
    if plan.unit.base is Unit.RATIO:
        return IdleUse(share, f"{engine} takes {share:.0%} at its start")
    if component.bound is not None:
        return IdleUse(share * component.bound, f"{engine} takes {share:.0%} at its start")
    return None


def _is_unknown(subject: Subject, term: TermPlan) -> bool:
    """Whether a term measures memory that idle replicas use without anybody saying how much."""
    said = subject.policy.spec.terms[term.name]
    if not isinstance(said, UtilizationTerm | HeadroomTerm):
        return False
    component = term.components[0]
    needs_base = subject.plan.inputs[component.input].needs_base
    return needs_base and component.base == 0 and idle_use(subject, component) is None
