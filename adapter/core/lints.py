"""Lints: what is allowed and likely to scale badly, each with the number that shows it.

All are warnings: they never refuse a policy. Evidence for each stands in the documentation of the terms.
"""

from math import pi

from adapter.core import promql
from adapter.core.conditions import inputs_in
from adapter.core.demand import TermPlan
from adapter.core.documents import Document, Path
from adapter.core.guards import GuardPlan
from adapter.core.plans import PolicyPlan, default_offset
from adapter.core.policy import Policy
from adapter.core.policy_inputs import QueryInput, ReplicasPreset
from adapter.core.policy_terms import BacklogTerm, Drain, ThroughputTerm
from adapter.core.problems import Problem, Severity
from adapter.core.term_planning import MIN_DRAIN_SECONDS

CONTROL_LAG_SECONDS = 30.0
"""Scrape, evaluation and sync together, added to the cold start in the loop of a backlog."""

_UNBOUNDED = {"throughput", "concurrency", "backlog", "expression"}


def lint(
    policy: Policy,
    plan: PolicyPlan,
    terms: tuple[TermPlan, ...],
    guards: tuple[GuardPlan, ...],
    document: Document,
) -> list[Problem]:
    """Every warning about a policy that has no error."""
    found: list[tuple[Path, str, str, str]] = [
        *_time_lints(policy, plan),
        *_input_lints(policy, plan, terms, guards),
        *_term_lints(policy, terms),
    ]
    return [
        Problem(
            document.file,
            document.value_at(path),
            code,
            f"{'.'.join(map(str, path))}: {message}",
            fix,
            Severity.WARNING,
        )
        for path, code, message, fix in found
    ]


def _time_lints(policy: Policy, plan: PolicyPlan) -> list[tuple[Path, str, str, str]]:
    wanted = default_offset(policy.spec.scrape_interval)
    if plan.offset >= wanted:
        return []
    message = (
        f"offset {plan.offset:g}s is below {wanted:g}s, so answers may still change after they are used"
        f" (scrape_interval {policy.spec.scrape_interval:g}s)"
    )
    path: Path = ("spec", "offset") if policy.spec.offset is not None else ("spec",)
    return [(path, "offset-too-small", message, "leave offset out, or state the real scrape_interval")]


def _input_lints(
    policy: Policy, plan: PolicyPlan, terms: tuple[TermPlan, ...], guards: tuple[GuardPlan, ...]
) -> list[tuple[Path, str, str, str]]:
    found: list[tuple[Path, str, str, str]] = []
    used = {name for term in terms for name in term.inputs}
    conditions = [term.when for term in terms] + [guard.condition for guard in guards]
    used |= set(inputs_in((name for one in conditions if one is not None for name in one.names), plan.inputs))
    for name, declared in policy.spec.inputs.items():
        path: Path = ("spec", "inputs", name)
        if name not in used:
            found.append((path, "unused-input", "no term or guard reads it", "remove it or use it"))
        if isinstance(declared, QueryInput) and declared.freshness is None:
            kind = promql.kind_of(declared.query.strip())
            if kind is promql.QueryKind.DERIVED:
                message = "a computed answer carries the time it was computed, so stale data cannot be seen"
                fix = "add freshness: the selector of the metric it is computed from"
                found.append(((*path, "query"), "freshness-missing", message, fix))
    if policy.spec.replicas is None:
        message = "without replicas a pod that failed cannot be told from one scaled down, and then there is no signal"
        fix = "add replicas: {preset: kube/deployment-replicas, match: {deployment: NAME}}"
        found.append((("spec",), "replicas-missing", message, fix))
    if policy.spec.publish.sum and not all(policy.spec.by.values()):
        message = "a sum over groups that are not declared shrinks when one vanishes"
        found.append((("spec", "publish", "sum"), "groups-undeclared", message, "declare them: by: {label: [a, b]}"))
    if isinstance(policy.spec.replicas, ReplicasPreset):
        foreign = sorted(set(policy.spec.by) - {"namespace", *policy.spec.replicas.match})
        if foreign:
            message = (
                f"kube-state-metrics has no label {', '.join(foreign)}, so N stays unknown and no group has a signal"
            )
            fix = "write replicas: {query: …, ready: …} that give these labels, or a policy for each workload"
            found.append((("spec", "replicas"), "groups-without-replicas", message, fix))
    return found


def _term_lints(policy: Policy, terms: tuple[TermPlan, ...]) -> list[tuple[Path, str, str, str]]:
    found: list[tuple[Path, str, str, str]] = []
    kinds = {term.kind for term in terms}
    if kinds == {"backlog"}:
        message = "a backlog alone asks for nothing at a steady load and then for too much: it oscillates"
        found.append((("spec", "terms"), "backlog-alone", message, "add it to a throughput term with plus"))
    if kinds and not kinds & _UNBOUNDED:
        message = "every term saturates when its pods are full, so growth is at most 1 ÷ target per cold start"
        found.append((("spec", "terms"), "no-unbounded-term", message, "add a throughput or concurrency term"))
    lag = (policy.spec.capacity.cold_start or 0.0) + CONTROL_LAG_SECONDS
    for name, term in policy.spec.terms.items():
        drains: list[tuple[Path, Drain]] = []
        if isinstance(term, BacklogTerm):
            drains.append((("spec", "terms", name), term))
        elif isinstance(term, ThroughputTerm) and term.plus is not None:
            drains.append((("spec", "terms", name, "plus"), term.plus))
        for path, drain in drains:
            seconds = drain.drain or max(policy.spec.capacity.cold_start or 0.0, MIN_DRAIN_SECONDS)
            if seconds < 2 / pi * lag:
                message = f"drain {seconds:g}s is below 2/π of cold start and lag ({2 / pi * lag:.0f}s): it oscillates"
                found.append(((*path, "drain"), "drain-too-short", message, "drain over at least the cold start"))
    return found
