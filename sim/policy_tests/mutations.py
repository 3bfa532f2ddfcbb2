"""Mutations: a policy made wrong in ways that happen, so that a test which passes all the same is found out.

What is changed is the plan of the loaded policy and the HPA, never a file: targets doubled (each replica is believed to
hold twice as much), missing data read as zero, windows dropped (the policy's shaping and the HPA's stabilization), and
guards dropped.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import StrEnum

from adapter.core.demand import TermPlan
from adapter.core.expressions import parse_expression
from adapter.core.policy_inputs import MissingRule
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.rules import Rules
from sim.hpa.spec import DEFAULT_DOWN, DEFAULT_UP, Behavior, Spec


class Mutation(StrEnum):
    """What is made wrong."""

    TARGETS_DOUBLED = "targets-doubled"
    MISSING_ASSUMED_ZERO = "missing-assumed-zero"
    WINDOWS_DROPPED = "windows-dropped"
    GUARDS_DROPPED = "guards-dropped"


ZERO = MissingRule.model_validate({"assume": 0, "scale_down": "allowed"})


def mutate(mutation: Mutation, policies: Sequence[LoadedPolicy], hpa: Spec) -> tuple[list[LoadedPolicy], Spec]:
    """The policies and the HPA with one thing made wrong."""
    match mutation:
        case Mutation.TARGETS_DOUBLED:
            return [replace(one, rules=_with_terms(one.rules, _doubled)) for one in policies], hpa
        case Mutation.MISSING_ASSUMED_ZERO:
            return [_reading_zero(one) for one in policies], hpa
        case Mutation.WINDOWS_DROPPED:
            return [replace(one, rules=_with_terms(one.rules, _unshaped)) for one in policies], _unstabilized(hpa)
        case Mutation.GUARDS_DROPPED:
            return [replace(one, rules=_unguarded(one.rules)) for one in policies], hpa


def _unguarded(rules: Rules) -> Rules:
    overrides = {group: _unguarded(own) for group, own in rules.overrides.items()}
    return replace(rules, guards=(), overrides=overrides)


def _with_terms(rules: Rules, change: Callable[[TermPlan], TermPlan]) -> Rules:
    overrides = {group: _with_terms(own, change) for group, own in rules.overrides.items()}
    return replace(rules, terms=tuple(change(term) for term in rules.terms), overrides=overrides)


def _doubled(term: TermPlan) -> TermPlan:
    components = tuple(
        replace(one, divisor_up=2 * one.divisor_up, divisor_down=2 * one.divisor_down) for one in term.components
    )
    latency = None if term.latency is None else replace(term.latency, objective=2 * term.latency.objective)
    numbers = term.numbers
    if numbers is not None:
        up, down = (parse_expression(f"({one.text}) / 2") for one in numbers)
        numbers = (up, down)
    return replace(term, components=components, latency=latency, numbers=numbers)


def _unshaped(term: TermPlan) -> TermPlan:
    return replace(term, shape=None)


def _reading_zero(loaded: LoadedPolicy) -> LoadedPolicy:
    inputs = {name: replace(one, missing=ZERO) for name, one in loaded.plan.inputs.items()}
    return replace(loaded, plan=replace(loaded.plan, inputs=inputs))


def _unstabilized(hpa: Spec) -> Spec:
    """With no window in either direction; where no behavior is written, with the default one but for its window."""
    before = hpa.behavior or Behavior(DEFAULT_UP, DEFAULT_DOWN)
    up, down = (replace(one, window_seconds=0) for one in (before.up, before.down))
    return replace(hpa, behavior=Behavior(up, down))
