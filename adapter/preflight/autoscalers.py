"""The HPAs of the cluster that ask for external metrics, held against the policies that there are.

Which of them no policy answers is what an operator has to know before the API changes hands. Judges what was read.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.problems import Problem, Severity
from adapter.kube_objects import Document, Refused
from adapter.preflight.findings import MAX_NAMES, Finding, Verdict, listed

HPAS = "/apis/autoscaling/v2/horizontalpodautoscalers"
KEDA_LABEL = "scaledobject.keda.sh/name"
MAX_HPA_FINDINGS = 50

Metric = tuple[str, str]
"""Namespace and name, in lower case, as the HPA asks for it."""

LintTogether = Callable[[Sequence[LoadedPolicy], str, str, str], list[Problem]]


def published(policies: Sequence[LoadedPolicy]) -> set[Metric]:
    """The metrics that policies publish."""
    return {(one.policy.key[0], one.policy.spec.publish.metric.lower()) for one in policies}


def asked(hpa: Document) -> set[Metric]:
    """The external metrics that an HPA asks for."""
    return {metric for metric, _ in _externals(hpa)}


def _externals(hpa: Document) -> Iterator[tuple[Metric, Mapping[str, Any]]]:
    for one in (hpa.get("spec") or {}).get("metrics") or []:
        if one.get("type") == "External":
            metric = one["external"]["metric"]
            yield (str(hpa["metadata"]["namespace"]), str(metric["name"]).lower()), metric


def queries(hpas: Sequence[Document], policies: Sequence[LoadedPolicy]) -> list[tuple[str, str, str]]:
    """Namespace, metric and label selector of what HPAs ask of our policies; where none does, of what is published.

    A policy with one signal per group answers only who selects one, so without an HPA it is not asked.
    """
    ours = published(policies)
    found = {
        (*metric, _selector(one.get("selector") or {}))
        for hpa in hpas
        for metric, one in _externals(hpa)
        if metric in ours
    }
    plain = published([one for one in policies if not one.policy.spec.by])
    return sorted(found) or sorted((*metric, "") for metric in plain)


def _selector(selector: Mapping[str, Any]) -> str:
    """A LabelSelector as the query that the HPA controller makes of it."""
    parts = [f"{key}={value}" for key, value in (selector.get("matchLabels") or {}).items()]
    for one in selector.get("matchExpressions") or []:
        key, values = one["key"], ",".join(one.get("values") or [])
        forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key}
        parts.append(forms.get(one["operator"], f"!{key}"))
    return ",".join(sorted(parts))


def judge_autoscalers(
    hpas: Sequence[Document], policies: Sequence[LoadedPolicy], is_ours: bool, kubernetes: str, lint: LintTogether
) -> list[Finding]:
    """HPAs on our metrics by the lints of `check --hpa`, one finding each; those on metrics of others in one."""
    ours = published(policies)
    external = [hpa for hpa in hpas if asked(hpa)]
    mine = [hpa for hpa in external if asked(hpa) & ours]
    findings = [*_others([hpa for hpa in external if not asked(hpa) & ours], is_ours)]
    wrong = [finding for hpa in mine for finding in _lint(hpa, policies, kubernetes, lint)]
    findings += wrong[:MAX_HPA_FINDINGS]
    if len(wrong) > MAX_HPA_FINDINGS:
        found = f"{len(wrong) - MAX_HPA_FINDINGS} more HPAs have problems"
        fix = "put the first ones right, then run this again"
        findings.append(Finding("autoscalers", "HPAs on our metrics", found, Verdict.FAIL, fix))
    if mine and not wrong:
        found = f"{len(mine)} fit their policies: {listed([_name(hpa) for hpa in mine])}"
        findings.append(Finding("autoscalers", "HPAs on our metrics", found, Verdict.OK))
    if not external:
        findings.append(Finding("autoscalers", "HPAs", "none asks for an external metric", Verdict.OK))
    return findings


def _others(hpas: Sequence[Document], is_ours: bool) -> Iterator[Finding]:
    if not hpas:
        return
    kedas = [hpa for hpa in hpas if KEDA_LABEL in (hpa["metadata"].get("labels") or {})]
    names = listed([_name(hpa) for hpa in hpas])
    found = f"{len(hpas)} ask for metrics that no policy publishes: {names}"
    found += f"; {len(kedas)} of them are KEDA's" if kedas else ""
    fix = "write a policy for each, or remove the HPA; until then it is answered 404 and keeps its replicas"
    if not is_ours:
        fix = "write a policy for each before the API changes hands: afterwards it is answered 404"
    yield Finding("autoscalers", "HPAs on metrics of others", found, Verdict.FAIL if is_ours else Verdict.WARN, fix)


def _lint(hpa: Document, policies: Sequence[LoadedPolicy], kubernetes: str, lint: LintTogether) -> Iterator[Finding]:
    metadata = {key: hpa["metadata"][key] for key in ("name", "namespace")}
    manifest = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata,
        "spec": hpa["spec"],
    }
    problems = lint(policies, json.dumps(manifest), _name(hpa), kubernetes)
    if problems:
        found = "; ".join(f"{one.message} [{one.code}]" for one in problems[:MAX_NAMES])
        is_error = any(one.severity is Severity.ERROR for one in problems)
        fix = "; ".join(dict.fromkeys(one.fix for one in problems[:MAX_NAMES] if one.fix))
        verdict = Verdict.FAIL if is_error else Verdict.WARN
        yield Finding("autoscalers", f"HPA {_name(hpa)}", found, verdict, fix)


def _name(hpa: Document) -> str:
    return f"{hpa['metadata']['namespace']}/{hpa['metadata']['name']}"


def judge_policies(policies: Sequence[LoadedPolicy], problems: Sequence[Problem], where: str) -> Finding:
    """Whether the policies load, and with what complaints."""

    def finding(found: str, verdict: Verdict, fix: str = "") -> Finding:
        return Finding("policies", where, found, verdict, fix)

    errors = [one for one in problems if one.severity is Severity.ERROR]
    first = next(iter([*errors, *problems]), None)
    if first is not None:
        verdict = Verdict.FAIL if errors else Verdict.WARN
        found = (
            f"{len(policies)} load, {len(errors)} errors, {len(problems) - len(errors)} warnings; the first: {first}"
        )
        return finding(found.splitlines()[0], verdict, "scaleproof check tells all of them, with line and fix")
    if not policies:
        return finding("none", Verdict.WARN, "give --policies PATH to have policies and HPAs checked together")
    return finding(f"{len(policies)} load without a complaint", Verdict.OK)


def judge_signals(answers: Mapping[str, Document | Refused]) -> Finding:
    """What the API answers now for metrics that HPAs ask for, or policies publish."""
    looked_at = "metrics through the API server"
    if not answers:
        return Finding("signals", looked_at, "no metric is known to ask for", Verdict.OK)
    missing = {name: one for name, one in answers.items() if isinstance(one, Refused)}
    if not missing:
        values = [f"{name} {_values(one)}" for name, one in answers.items()]
        return Finding("signals", looked_at, f"served: {listed(values)}", Verdict.OK)
    found = f"{len(answers) - len(missing)} of {len(answers)} are served; " + "; ".join(
        f"{name}: {one}" for name, one in list(missing.items())[:MAX_NAMES]
    )
    is_unknown = any(one.status == 404 for one in missing.values())
    fix = "404: no policy in force publishes it. 503: docs/policy.md has the reasons; scaleproof check --prometheus"
    return Finding("signals", looked_at, found, Verdict.FAIL if is_unknown else Verdict.WARN, fix)


def _values(answer: Any) -> str:
    return "+".join(str(item.get("value")) for item in answer.get("items", [])) or "nothing"
