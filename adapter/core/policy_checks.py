"""Policy checks: what a well-formed policy may still get wrong, before anything is served.

Names that nothing defines, queries that do not parse, units that do not fit, targets that cannot be reached: errors.
What is likely to scale badly is a lint, in a module of its own.
"""

from collections.abc import Mapping
from difflib import get_close_matches

from adapter.core import promql
from adapter.core.documents import Document, Path
from adapter.core.group_names import shared_names
from adapter.core.idle_shares import find_runaway
from adapter.core.input_kinds import Kind
from adapter.core.lint_subject import Subject
from adapter.core.lints import lint
from adapter.core.plans import PolicyPlan, plan_policy, workload_pods
from adapter.core.policy import Policy
from adapter.core.policy_inputs import PresetInput, ReplicasPreset
from adapter.core.policy_references import references
from adapter.core.policy_terms import ExpressionTerm, HeadroomTerm, LatencyTerm, parse_amount
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Problem, has_errors
from adapter.core.rule_checks import Report, check_rules
from adapter.core.rules import Rules


def check_policy(
    policy: Policy, document: Document, library: PresetLibrary
) -> tuple[PolicyPlan | None, Rules | None, list[Problem]]:
    """The plan and rules of a policy and every problem; None where they cannot be planned."""
    problems: list[Problem] = []

    def report(path: Path, code: str, message: str, fix: str) -> None:
        where = ".".join(str(step) for step in path)
        problems.append(Problem(document.file, document.value_at(path), code, f"{where}: {message}", fix))

    _check_sources(policy, library, report)
    _check_references(policy, report)
    _check_publish(policy, report)
    if has_errors(problems):
        return None, None, problems
    plan = plan_policy(policy, library)
    rules = check_rules(policy, plan, report)
    if not has_errors(problems):
        subject = Subject(policy, plan, rules.terms, rules.guards, library)
        _check_idle(subject, report)
        problems += [] if has_errors(problems) else lint(subject, document)
    return plan, rules, problems


def _check_idle(subject: Subject, report: Report) -> None:
    for name, declared in subject.policy.spec.inputs.items():
        if declared.idle is None:
            continue
        path: Path = ("spec", "inputs", name, "idle")
        unit = subject.plan.inputs[name].unit
        try:
            amount = parse_amount(declared.idle, unit)
        except ValueError as error:
            report(path, "amount", str(error), f"write what an idle replica shows, in {unit}")
            return
        if amount < 0:
            report(path, "value-range", f"{declared.idle} must not be below 0", "write a number from 0")
    for one in find_runaway(subject):
        report(*one)


def _check_sources(policy: Policy, library: PresetLibrary, report: Report) -> None:
    input_names, replica_names = library.names()
    for name, declared in policy.spec.inputs.items():
        path: Path = ("spec", "inputs", name)
        if isinstance(declared, PresetInput):
            preset = library.input(declared.preset)
            if declared.cache is not None and preset is not None and preset.kind is not Kind.HISTOGRAM:
                message = "cache tells the hits of a histogram from its misses, and this is none"
                report((*path, "cache"), "histogram", message, "use a histogram, or a preset of the hit ratio itself")
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
    for index, guard in enumerate(policy.spec.guards):
        after = guard.rule.after
        if after is not None and workload_pods(policy, library) is None:
            path = ("spec", "guards", index, f"hold_scale_{guard.direction}", "after")
            message = f"the pods whose {after} is meant are unknown"
            report(path, "replicas-required", message, "write replicas with a deployment, or a guard with when")
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
    """Each value alone in a selector, so that a bad regular expression is found before Prometheus refuses it."""
    for label, value in match.items():
        if label == "__name__":
            report((*path, label), "promql", "a preset names its metric itself", "remove it, or write an own query")
            continue
        try:
            promql.kind_of(promql.selector("m", {label: value}))
        except ValueError:
            message = (
                f'"{value[1:61]}" is no regular expression that Prometheus reads (RE2: no look-around, bounded size)'
            )
            report((*path, label), "regex", message, "correct it, or leave out ~ where the value itself is meant")


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
    for label, declared in spec.by.items():
        for first, second, alias in shared_names(declared):
            message = f'"{first}" and "{second}" are both served as {alias}, since a label value has no other form'
            fix = "rename one of the two where its series are made, or leave it to a policy of its own"
            report(("spec", "by", label, declared.index(second)), "alias-collision", message, fix)
    both = sorted(set(spec.by) & set(spec.publish.labels))
    if both:
        message = f"{', '.join(both)} is a label of the groups already"
        report(("spec", "publish", "labels"), "label-twice", message, "remove it from publish.labels")
