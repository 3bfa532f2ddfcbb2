"""Policy checks: what a well-formed policy may still get wrong, before anything is served.

Names that nothing defines, queries that do not parse, units that do not fit, targets that cannot be reached: errors.
What is likely to scale badly is a lint, in a module of its own.
"""

from collections.abc import Callable
from difflib import get_close_matches

from adapter.core import promql
from adapter.core.demand import TermPlan
from adapter.core.documents import Document, Path
from adapter.core.guards import GuardPlan, plan_guard
from adapter.core.lints import lint
from adapter.core.plans import InputPlan, PolicyPlan, plan_policy, workload_pods
from adapter.core.policy import Policy
from adapter.core.policy_inputs import PresetInput, QueryInput, ReplicasPreset
from adapter.core.policy_terms import (
    BacklogTerm,
    ConcurrencyTerm,
    ExpressionTerm,
    HeadroomTerm,
    LatencyTerm,
    TermBase,
    ThroughputTerm,
    UpDown,
    UtilizationTerm,
)
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Problem, has_errors
from adapter.core.term_planning import TermError, plan_condition, plan_term, with_inputs
from adapter.core.units import Unit

MAX_UTILIZATION_TARGET = 0.9

Report = Callable[[Path, str, str, str], None]


def check_policy(
    policy: Policy, document: Document, library: PresetLibrary
) -> tuple[PolicyPlan | None, tuple[TermPlan, ...], tuple[GuardPlan, ...], list[Problem]]:
    """The plan, terms and guards of a policy and every problem; the plan is None where inputs cannot be planned."""
    problems: list[Problem] = []

    def report(path: Path, code: str, message: str, fix: str) -> None:
        where = ".".join(str(step) for step in path)
        problems.append(Problem(document.file, document.value_at(path), code, f"{where}: {message}", fix))

    _check_sources(policy, library, report)
    _check_references(policy, report)
    _check_publish(policy, report)
    if has_errors(problems):
        return None, (), (), problems
    plan = plan_policy(policy, library)
    terms = _check_terms(policy, plan, report)
    guards = _check_guards(policy, plan, report)
    if not has_errors(problems):
        problems += lint(policy, plan, terms, guards, document)
    return plan, terms, guards, problems


def _check_sources(policy: Policy, library: PresetLibrary, report: Report) -> None:
    input_names, replica_names = library.names()
    for name, declared in policy.spec.inputs.items():
        path: Path = ("spec", "inputs", name)
        if isinstance(declared, PresetInput):
            _check_preset((*path, "preset"), declared.preset, input_names, report)
        else:
            _check_query((*path, "query"), declared.query, report)
            if declared.freshness is not None:
                _check_freshness((*path, "freshness"), declared.freshness, report)
        hold = declared.missing.hold
        if hold is not None and hold >= policy.spec.memory:
            message = f"hold {hold:g}s must be shorter than memory {policy.spec.memory:g}s, which it is looked up in"
            report((*path, "missing"), "hold-beyond-memory", message, "shorten hold or lengthen memory")
    for index, guard in enumerate(policy.spec.guards):
        after = guard.hold_scale_down.after
        if after is not None and workload_pods(policy, library) is None:
            path = ("spec", "guards", index, "hold_scale_down", "after")
            message = f"the pods whose {after} is meant are unknown"
            report(path, "replicas-required", message, "write replicas with a deployment, or a guard with when")
    replicas = policy.spec.replicas
    if isinstance(replicas, ReplicasPreset):
        _check_preset(("spec", "replicas", "preset"), replicas.preset, replica_names, report)
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
        case ExpressionTerm():
            return []
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
        if not is_single or isinstance(terms[0], HeadroomTerm | LatencyTerm | ExpressionTerm):
            message = "a total is one input's sum, so it needs one throughput, backlog, concurrency or utilization term"
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
            planned.append(with_inputs(one, plan.inputs))
        except TermError as error:
            report((*path, *error.path), error.code, error.message, error.fix)
            continue
        _check_targets(policy, term, plan, path, report)
        _check_latency(policy, planned[-1], plan, path, report)
    return tuple(planned)


def _check_guards(policy: Policy, plan: PolicyPlan, report: Report) -> tuple[GuardPlan, ...]:
    planned = []
    for index, guard in enumerate(policy.spec.guards):
        rule = guard.hold_scale_down
        condition = None
        if rule.when is not None:
            try:
                condition = plan_condition(rule.when, dict(plan.inputs))
            except TermError as error:
                path: Path = ("spec", "guards", index, "hold_scale_down", "when")
                report(path, error.code, error.message, error.fix)
                continue
        planned.append(plan_guard(index, rule, condition))
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
    if kind == "throughput" and one.kind == "completions":
        message = "completions saturate at capacity, so they never ask for more; throughput wants arrivals"
        report(path, "completions-saturate", message, "use vllm/request-arrivals or the gateway's request counter")
        return False
    return True


def _check_targets(policy: Policy, term: TermBase, plan: PolicyPlan, path: Path, report: Report) -> None:
    if isinstance(term, UtilizationTerm) and term.target.up > MAX_UTILIZATION_TARGET:
        target = term.target.up
        message = f"target {target:g} is above {MAX_UTILIZATION_TARGET:g}, so a full replica never asks for another"
        report((*path, "target"), "target-too-high", message, "use a target from 50% to 80%")
    if not isinstance(term, HeadroomTerm):
        return
    declared = policy.spec.inputs[term.headroom]
    if plan.inputs[term.headroom].needs_base and "base" not in term.model_fields_set:
        message = "base is required: weights and a preallocated pool sit on every replica and never divide"
        report((*path, "headroom"), "base-missing", message, "write base: the memory that an idle replica uses")
    if isinstance(term.keep_free, UpDown) and term.keep_free.up != term.keep_free.down and policy.spec.replicas is None:
        message = "two targets give an interval, which needs N to choose in"
        fix = "write replicas: {preset: kube/deployment-replicas, match: {deployment: NAME}}"
        report((*path, "keep_free"), "replicas-required", message, fix)
    if isinstance(declared, QueryInput) and declared.unit is Unit.COUNT and term.capacity is None:
        report((*path, "headroom"), "target-missing", "capacity is required for an input in count", "write capacity: N")
