"""Policy checks: what a well-formed policy may still get wrong, before anything is served.

Names that nothing defines, queries that do not parse, units that do not fit, targets that cannot be reached: errors.
What is likely to scale badly is a lint, in a module of its own.
"""

from collections.abc import Callable, Mapping
from difflib import get_close_matches

from adapter.core import promql
from adapter.core.demand import TermError, TermPlan, plan_term
from adapter.core.documents import Document, Path
from adapter.core.lints import lint
from adapter.core.plans import InputPlan, PolicyPlan, plan_policy
from adapter.core.policy import Policy
from adapter.core.policy_inputs import PresetInput, ReplicasPreset
from adapter.core.policy_terms import (
    BacklogTerm,
    ConcurrencyTerm,
    HeadroomTerm,
    LatencyTerm,
    TermBase,
    ThroughputTerm,
    UpDown,
    UtilizationTerm,
)
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Problem, has_errors
from adapter.core.units import Unit

MAX_UTILIZATION_TARGET = 0.9
MIN_DIVISOR, MAX_DIVISOR = 1e-12, 1e18
"""What one replica may be said to take, in any unit; beyond it sums overflow, or every demand rounds to 0."""

Report = Callable[[Path, str, str, str], None]


def check_policy(
    policy: Policy, document: Document, library: PresetLibrary
) -> tuple[PolicyPlan | None, tuple[TermPlan, ...], list[Problem]]:
    """The plan and terms of a policy and every problem found; the plan is None where the inputs cannot be planned."""
    problems: list[Problem] = []

    def report(path: Path, code: str, message: str, fix: str) -> None:
        where = ".".join(str(step) for step in path)
        problems.append(Problem(document.file, document.value_at(path), code, f"{where}: {message}", fix))

    _check_sources(policy, library, report)
    _check_references(policy, report)
    _check_publish(policy, report)
    if has_errors(problems):
        return None, (), problems
    plan = plan_policy(policy, library)
    terms = _check_terms(policy, plan, report)
    if not has_errors(problems):
        problems += lint(policy, plan, terms, document)
    return plan, terms, problems


def _check_sources(policy: Policy, library: PresetLibrary, report: Report) -> None:
    input_names, replica_names = library.names()
    for name, declared in policy.spec.inputs.items():
        path: Path = ("spec", "inputs", name)
        if isinstance(declared, PresetInput):
            _check_preset((*path, "preset"), declared.preset, input_names, report)
            _check_match((*path, "match"), declared.match, report)
        else:
            _check_query((*path, "query"), declared.query, report)
            if declared.freshness is not None:
                _check_freshness((*path, "freshness"), declared.freshness, report)
        hold = declared.missing.hold
        if hold is not None and hold >= policy.spec.memory:
            message = f"hold {hold:g}s must be shorter than memory {policy.spec.memory:g}s, which it is looked up in"
            report((*path, "missing"), "hold-beyond-memory", message, "shorten hold or lengthen memory")
    replicas = policy.spec.replicas
    if isinstance(replicas, ReplicasPreset):
        _check_preset(("spec", "replicas", "preset"), replicas.preset, replica_names, report)
        _check_match(("spec", "replicas", "match"), replicas.match, report)
        if not replicas.match:
            fix = "write match: {deployment: NAME}"
            report(
                ("spec", "replicas"), "match-missing", "replicas without match would be those of every workload", fix
            )
    elif replicas is not None:
        _check_query(("spec", "replicas", "query"), replicas.query, report)
        if replicas.ready is not None:
            _check_query(("spec", "replicas", "ready"), replicas.ready, report)


def _check_preset(path: Path, name: str, names: tuple[str, ...], report: Report) -> None:
    if name in names:
        return
    close = get_close_matches(name, names, n=1)
    fix = f"did you mean {close[0]}?" if close else f"known presets: {', '.join(names)}"
    report(path, "unknown-preset", f'no preset is called "{name}"', fix)


def _check_match(path: Path, match: Mapping[str, str], report: Report) -> None:
    for label, value in match.items():
        try:
            promql.kind_of(promql.selector("up", {label: value}))
        except ValueError as error:
            report((*path, label), "promql", str(error), "write a regular expression (RE2) after ~, or leave ~ out")


def _check_query(path: Path, query: str, report: Report) -> None:
    try:
        promql.kind_of(query.strip())
    except ValueError as error:
        report(path, "promql", str(error), "correct the query")


def _check_freshness(path: Path, query: str, report: Report) -> None:
    try:
        is_selector = promql.kind_of(query.strip()) is promql.QueryKind.SELECTOR
    except ValueError as error:
        report(path, "promql", str(error), "correct the selector")
        return
    if not is_selector:
        report(path, "freshness-selector", "freshness must be a plain selector", "name a metric with its labels")


def references(term: TermBase) -> list[tuple[Path, str]]:
    """The inputs that a term reads, with their place in the term."""
    match term:
        case ThroughputTerm():
            plus = [(("plus", "backlog"), term.plus.backlog)] if term.plus is not None else []
            return [(("throughput",), term.throughput), *plus]
        case BacklogTerm():
            return [(("backlog",), term.backlog)]
        case ConcurrencyTerm():
            return [(("concurrency",), term.concurrency)]
        case UtilizationTerm():
            return [(("utilization",), term.utilization)]
        case HeadroomTerm():
            return [(("headroom",), term.headroom)]
        case LatencyTerm():
            return [(("latency",), term.latency)]
        case _:
            raise TypeError(f"no references known for a term of type {type(term).__name__}")


def _check_references(policy: Policy, report: Report) -> None:
    inputs = policy.spec.inputs
    for term_name, term in policy.spec.terms.items():
        for path, name in references(term):
            if name not in inputs:
                close = get_close_matches(name, list(inputs), n=1)
                fix = f"did you mean {close[0]}?" if close else f"inputs of this policy: {', '.join(inputs)}"
                report(("spec", "terms", term_name, *path), "unknown-input", f'no input is called "{name}"', fix)


def _check_publish(policy: Policy, report: Report) -> None:
    spec = policy.spec
    if spec.publish.as_ == "total":
        terms = list(spec.terms.values())
        is_single = len(terms) == 1 and len(references(terms[0])) == 1
        if not is_single or isinstance(terms[0], HeadroomTerm | LatencyTerm):
            message = "a total is one input's sum, so it needs one term of one input that is not headroom or latency"
            report(("spec", "publish", "as"), "total-needs-one-term", message, "publish as: replicas")
    if spec.publish.as_ == "ratio" and spec.replicas is None:
        fix = "write replicas: {preset: kube/deployment-replicas, match: {deployment: NAME}}"
        report(("spec", "publish", "as"), "replicas-required", "a ratio to N needs replicas", fix)
    both = sorted(set(spec.by) & set(spec.publish.labels))
    if both:
        message = f"{', '.join(both)} is a label of the groups already"
        report(("spec", "publish", "labels"), "label-twice", message, "remove it from publish.labels")


_UNITS: dict[str, tuple[Unit, ...]] = {
    "throughput": (Unit.PER_SECOND,),
    "backlog": (Unit.COUNT,),
    "concurrency": (Unit.COUNT,),
    "utilization": (Unit.RATIO, Unit.PERCENT),
    "headroom": (Unit.RATIO, Unit.PERCENT, Unit.BYTES, Unit.COUNT),
    "latency": (Unit.SECONDS,),
}


def _check_terms(policy: Policy, plan: PolicyPlan, report: Report) -> tuple[TermPlan, ...]:
    planned = []
    for name, term in policy.spec.terms.items():
        path: Path = ("spec", "terms", name)
        if not _check_inputs_of(term, plan, path, report):
            continue
        try:
            one = plan_term(name, term, dict(plan.inputs), policy.spec.capacity)
        except TermError as error:
            report((*path, *error.path), error.code, error.message, error.fix)
            continue
        _check_targets(policy, term, plan, path, report)
        if one is not None:
            _check_divisors(one, path, report)
            planned.append(one)
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


def _check_inputs_of(term: TermBase, plan: PolicyPlan, path: Path, report: Report) -> bool:
    is_sound = True
    for place, name in references(term):
        kind = str(place[-1])
        one = plan.inputs.get(name)
        if one is None:
            if kind != "latency":
                message = f'the input "{name}" is a histogram, which only a latency term reads'
                report((*path, *place), "histogram", message, "use a gauge or counter preset")
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
    if kind == "throughput" and one.kind == "completions":
        message = "completions saturate at capacity, so they never ask for more; throughput wants arrivals"
        report(path, "completions-saturate", message, "use vllm/request-arrivals or the gateway's request counter")
        return False
    return True


def _check_targets(policy: Policy, term: TermBase, plan: PolicyPlan, path: Path, report: Report) -> None:
    if isinstance(term, UtilizationTerm) and term.target > MAX_UTILIZATION_TARGET:
        message = (
            f"target {term.target:g} is above {MAX_UTILIZATION_TARGET:g}, so a full replica never asks for another"
        )
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
