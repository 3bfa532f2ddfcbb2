"""Rule checks: whether the terms, guards and combination of a policy can be computed, and with what.

Units that do not fit, targets that cannot be reached, windows longer than the memory: errors, each with its place. The
result is the policy's rules.
"""

from collections.abc import Callable
from dataclasses import replace

from adapter.core.bounds import BoundsPlan
from adapter.core.combining import CombinePlan
from adapter.core.demand import TermPlan
from adapter.core.documents import Path
from adapter.core.guards import GuardPlan, plan_guard
from adapter.core.input_kinds import UNFIT
from adapter.core.input_plans import InputPlan
from adapter.core.plans import PolicyPlan
from adapter.core.policy import Capacity, Policy
from adapter.core.policy_references import references
from adapter.core.policy_terms import HeadroomTerm, TermBase, UpDown, UtilizationTerm
from adapter.core.rules import Rules, plan_bounds, plan_ceiling, plan_schedules
from adapter.core.term_planning import TermError, plan_combination, plan_condition, plan_term
from adapter.core.units import Unit

MAX_UTILIZATION_TARGET = 0.9
MIN_DIVISOR, MAX_DIVISOR = 1e-12, 1e18
"""What one replica may be said to take, in any unit; beyond it sums overflow, or every demand rounds to 0."""

Report = Callable[[Path, str, str, str], None]
"""Takes the path in the document, a code, a message and a fix."""


def check_rules(policy: Policy, plan: PolicyPlan, report: Report) -> Rules:
    """The rules of a policy, as far as they can be planned; what cannot is reported."""
    rules = Rules(
        terms=_check_terms(policy, policy.spec.capacity, plan, report),
        guards=_check_guards(policy, plan, report),
        combine=_check_combine(policy, report),
        bounds=plan_bounds(policy),
        schedules=plan_schedules(policy),
        floor=policy.spec.publish.floor,
        ceiling=plan_ceiling(policy),
    )
    rules = replace(rules, overrides=_check_overrides(policy, plan, rules, report))
    _check_spans(policy, plan, rules, report)
    return rules


def _check_combine(policy: Policy, report: Report) -> CombinePlan:
    said, terms = policy.spec.combine, list(policy.spec.terms)
    if isinstance(said, str):
        return CombinePlan(said)
    if said.weighted is not None:
        for name in said.weighted:
            if name not in terms:
                report(
                    ("spec", "combine", "weighted", name), "unknown-term", f'no term is called "{name}"', _known(terms)
                )
        return CombinePlan("weighted", said.weighted)
    try:
        return CombinePlan("expression", expression=plan_combination(said.expression or "", terms))
    except TermError as error:
        report(("spec", "combine", *error.path), error.code, error.message, error.fix)
        return CombinePlan()


def _known(names: list[str]) -> str:
    return f"there are: {', '.join(names)}"


def _check_overrides(policy: Policy, plan: PolicyPlan, rules: Rules, report: Report) -> dict[str, Rules]:
    """The rules of groups with own capacity or limits."""
    found = {}
    for name, said in policy.spec.overrides.items():
        path: Path = ("spec", "overrides", name)
        if len(policy.spec.by) != 1:
            report(path, "overrides-need-by", "overrides are by the value of one label", "write by: [LABEL]")
            continue
        terms = _check_terms(policy, said.capacity or policy.spec.capacity, plan, report)
        floor = rules.floor if said.floor is None else said.floor
        ceiling = rules.ceiling if said.ceiling is None else said.ceiling
        found[name] = replace(rules, terms=terms, floor=floor, ceiling=ceiling)
    return found


def _check_spans(policy: Policy, plan: PolicyPlan, rules: Rules, report: Report) -> None:
    """Whatever looks back looks no further than the memory."""
    remembered = plan.memory_ticks * plan.every
    for term in rules.terms:
        if term.shape is not None and term.shape.window > remembered:
            message = f"a window of {term.shape.window:g}s is longer than memory {remembered:g}s"
            report(
                ("spec", "terms", term.name, "shape"), "memory-range", message, "lengthen memory or shorten the window"
            )
    if rules.bounds.memory > remembered:
        message = f"{rules.bounds.memory:g}s is longer than memory {remembered:g}s, in which N is looked up"
        report(("spec", "stability"), "memory-range", message, "lengthen memory or shorten the time")
    if rules.bounds != BoundsPlan() and policy.spec.replicas is None:
        fix = "write replicas: {preset: kube/deployment-replicas, match: {deployment: NAME}}"
        report(("spec", "stability"), "replicas-required", "it is told by N, which nothing gives", fix)


_UNITS: dict[str, tuple[Unit, ...]] = {
    "throughput": (Unit.PER_SECOND,),
    "backlog": (Unit.COUNT,),
    "concurrency": (Unit.COUNT,),
    "utilization": (Unit.RATIO, Unit.PERCENT),
    "headroom": (Unit.RATIO, Unit.PERCENT, Unit.BYTES, Unit.COUNT),
    "latency": (Unit.SECONDS,),
}


def _check_terms(policy: Policy, capacity: Capacity, plan: PolicyPlan, report: Report) -> tuple[TermPlan, ...]:
    planned = []
    for name, term in policy.spec.terms.items():
        path: Path = ("spec", "terms", name)
        if not _check_inputs_of(term, plan, path, report):
            continue
        try:
            planned.append(plan_term(name, term, plan, capacity))
        except TermError as error:
            report((*path, *error.path), error.code, error.message, error.fix)
            continue
        _check_targets(policy, term, plan, path, report)
        _check_divisors(planned[-1], path, report)
        _check_latency(policy, planned[-1], plan, path, report)
    return tuple(planned)


def _check_divisors(term: TermPlan, path: Path, report: Report) -> None:
    for component in term.components:
        for divisor in {component.divisor_up, component.divisor_down}:
            if not MIN_DIVISOR <= divisor <= MAX_DIVISOR:
                message = (
                    f"one replica would take {divisor:g} of {component.input},"
                    f" which must be from {MIN_DIVISOR:g} to {MAX_DIVISOR:g}"
                )
                report(path, "value-range", message, "write what one replica was measured to take")


def _check_guards(policy: Policy, plan: PolicyPlan, report: Report) -> tuple[GuardPlan, ...]:
    planned = []
    for index, guard in enumerate(policy.spec.guards):
        rule = guard.rule
        condition = None
        if rule.when is not None:
            try:
                condition = plan_condition(rule.when, plan)
            except TermError as error:
                path: Path = ("spec", "guards", index, f"hold_scale_{guard.direction}", "when")
                report(path, error.code, error.message, error.fix)
                continue
        planned.append(plan_guard(index, guard, condition))
    return tuple(planned)


def _check_latency(policy: Policy, term: TermPlan, plan: PolicyPlan, path: Path, report: Report) -> None:
    if term.latency is None:
        return
    if policy.spec.replicas is None:
        fix = "write replicas: {preset: kube/deployment-replicas, match: {deployment: NAME}}"
        report((*path, "latency"), "replicas-required", "a latency multiplies the ready replicas", fix)
    remembered = plan.memory_ticks * plan.every
    if remembered < term.latency.period:
        message = (
            f"memory {remembered:g}s is shorter than cold start and window ({term.latency.period:g}s), a step's period"
        )
        report((*path, "latency"), "memory-range", message, f"write memory: {term.latency.period * 2:g}s or more")


def _check_inputs_of(term: TermBase, plan: PolicyPlan, path: Path, report: Report) -> bool:
    is_sound = True
    for place, name in references(term):
        kind, one = str(place[-1]), plan.inputs[name]
        if one.histogram is not None and one.unit is Unit.SECONDS and kind != "latency":
            message = f'the input "{name}" is a histogram, whose percentile only a latency term reads'
            report((*path, *place), "histogram", message, "use a gauge or counter preset, or share_above")
            is_sound = False
            continue
        is_sound = _check_unit(one, kind, (*path, *place), report) and is_sound
    return is_sound


def _check_unit(one: InputPlan, kind: str, path: Path, report: Report) -> bool:
    if one.unit not in _UNITS[kind]:
        allowed = " or ".join(_UNITS[kind])
        message = f'the input "{one.name}" is in {one.unit}; {kind} divides {allowed}'
        report(path, "unit-mismatch", message, f"use an input in {allowed}, or correct its unit")
        return False
    if kind == "latency" and one.histogram is None:
        message = f'the input "{one.name}" is no histogram: a mean latency describes neither a hit nor a miss'
        report(
            path, "mean-latency", message, "use a preset of a histogram, or an own query of its buckets with quantile"
        )
        return False
    if one.kind in UNFIT:
        report(path, *UNFIT[one.kind])
        return False
    return True


def _check_targets(policy: Policy, term: TermBase, plan: PolicyPlan, path: Path, report: Report) -> None:
    if isinstance(term, UtilizationTerm) and term.target.up > MAX_UTILIZATION_TARGET:
        target = term.target.up
        message = f"target {target:g} is above {MAX_UTILIZATION_TARGET:g}, so a full replica never asks for another"
        report((*path, "target"), "target-too-high", message, "use a target from 50% to 80%")
    if not isinstance(term, HeadroomTerm):
        return
    if plan.inputs[term.headroom].needs_base and "base" not in term.model_fields_set:
        message = "base is required: weights and a preallocated pool sit on every replica and never divide"
        report((*path, "headroom"), "base-missing", message, "write base: the memory that an idle replica uses")
    if isinstance(term.keep_free, UpDown) and term.keep_free.up != term.keep_free.down and policy.spec.replicas is None:
        message = "two targets give an interval, which needs N to choose in"
        fix = "write replicas: {preset: kube/deployment-replicas, match: {deployment: NAME}}"
        report((*path, "keep_free"), "replicas-required", message, fix)
