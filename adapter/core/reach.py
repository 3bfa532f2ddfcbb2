"""Reach: which sources the policies of a server may ask, and which namespaces they may read there.

A setting of the server, not of a policy. Binding a plan to it names the text that is really sent for each query, so
that what is explained is what was asked. A policy that asks beyond is refused with its place.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches

from adapter.core.documents import Document, Path
from adapter.core.input_plans import InputPlan
from adapter.core.plans import DEFAULT_SOURCE, PolicyPlan
from adapter.core.policy_inputs import PresetInput, ReplicasPreset
from adapter.core.problems import Problem
from adapter.core.tenancy import ANY, DEFAULT_LABELS, Confinement, NotConfinable, OtherNamespace, TenancyMode, confined


@dataclass(frozen=True, slots=True)
class SourceReach:
    """One source: how queries to it are confined, and the namespaces whose policies may name it (None: all)."""

    tenancy: TenancyMode = TenancyMode.OWN_OR_UNLABELLED
    labels: tuple[str, ...] = DEFAULT_LABELS
    namespaces: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Reach:
    """All sources of a server, and by namespace the others that its policies may read; `*` stands for every one."""

    sources: Mapping[str, SourceReach] = field(default_factory=lambda: {DEFAULT_SOURCE: SourceReach()})
    also_reads: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def confinement(self, namespace: str, source: SourceReach) -> Confinement | None:
        """What a namespace's policies may read from a source; None if everything."""
        others = self.also_reads.get(namespace, frozenset())
        if source.tenancy is TenancyMode.OFF or ANY in others:
            return None
        return Confinement(namespace, others, source.labels, source.tenancy is TenancyMode.OWN_OR_UNLABELLED)


def bind_plan(plan: PolicyPlan, document: Document, reach: Reach) -> tuple[PolicyPlan, list[Problem]]:
    """The plan with the texts that go to its source, or the problems of a policy that asks beyond its reach."""
    namespace = plan.policy.metadata.namespace
    source = reach.sources.get(plan.source)
    if source is None or (source.namespaces is not None and namespace not in source.namespaces):
        return plan, [_no_source(plan, document, reach)]
    to = reach.confinement(namespace, source)
    sent: dict[str, str] = {}
    problems: list[Problem] = []
    for path, query in _queries(plan):
        if query in sent:
            continue
        try:
            sent[query] = query if to is None else confined(query, to)
        except (OtherNamespace, NotConfinable) as error:
            is_other = isinstance(error, OtherNamespace)
            code = "other-namespace" if is_other else "namespace-unsure"
            fix = f'write namespace="{namespace}", or leave it out: it is added' if is_other else "write it otherwise"
            where = ".".join(str(step) for step in path)
            problems.append(Problem(document.file, document.value_at(path), code, f"{where}: {error}", fix))
            sent[query] = query
    unique = {(problem.position, problem.message): problem for problem in problems}
    return replace(plan, sent=sent), list(unique.values())


def _no_source(plan: PolicyPlan, document: Document, reach: Reach) -> Problem:
    """A source that is not there and one that is for others read the same, so that names of others do not leak."""
    namespace = plan.policy.metadata.namespace
    names = sorted(name for name, one in reach.sources.items() if one.namespaces is None or namespace in one.namespaces)
    close = get_close_matches(plan.source, names, n=1)
    fix = f"did you mean {close[0]}?" if close else f"sources for this namespace: {', '.join(names)}"
    message = f'spec.source: no source is called "{plan.source}" for policies of {namespace}'
    return Problem(document.file, document.value_at(("spec", "source")), "unknown-source", message, fix)


def _queries(plan: PolicyPlan) -> Iterator[tuple[Path, str]]:
    """Every query with the place that it comes from."""
    for name, one in plan.inputs.items():
        for query in _of_input(one):
            yield _place(plan, name, query), query
    replicas = plan.replicas
    if replicas is None:
        return
    is_preset = isinstance(plan.policy.spec.replicas, ReplicasPreset)
    for key, found in (("query", replicas.spec), ("ready", replicas.ready), ("query", replicas.pods)):
        place: Path = ("spec", "replicas", "match", "namespace") if is_preset else ("spec", "replicas", key)
        for query in _of_input(found) if found is not None else ():
            yield place, query


def _of_input(plan: InputPlan) -> Iterator[str]:
    for series in plan.series:
        for alternative in series.alternatives:
            yield alternative.query
    if plan.freshness is not None:
        yield plan.freshness


def _place(plan: PolicyPlan, name: str, query: str) -> Path:
    declared = plan.policy.spec.inputs.get(name)
    if declared is None:  # an event or alert that a guard brings along
        return ("spec", "guards")
    if isinstance(declared, PresetInput):
        return ("spec", "inputs", name, "match", "namespace")
    return ("spec", "inputs", name, "freshness" if query == declared.freshness else "query")
