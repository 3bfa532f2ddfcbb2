"""Looks at a cluster: reads what the judges need, in an order in which each answer says what to ask next.

Changes nothing: it reads, and asks the API server whether ServiceAccounts may do something.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from adapter.checking import check_paths
from adapter.core.policy_reading import LoadedPolicy, collisions, read_policies
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Problem
from adapter.core.reasons import Missing
from adapter.kube_objects import ClusterObjects, Document, Refused
from adapter.preflight import api_service, rights
from adapter.preflight.autoscalers import (
    HPAS,
    LintTogether,
    judge_autoscalers,
    judge_policies,
    judge_signals,
    queries,
)
from adapter.preflight.findings import Finding, Verdict
from adapter.preflight.rights import Right

API_SERVICE = f"/apis/apiregistration.k8s.io/v1/apiservices/{api_service.NAME}"
POLICIES = "scaleproof-policies"
SCALING_POLICIES = "/apis/scaleproof.dev/v1alpha1/scalingpolicies"
PAGE = 250
MAX_PAGES = 20
MAX_METRICS = 20
NEWEST_KUBERNETES = "1.36"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an operator said."""

    namespace: str
    policies: tuple[Path, ...]
    prometheus: str | None
    now: float


@dataclass(frozen=True, slots=True)
class Means:
    """What is used beside the cluster."""

    library: PresetLibrary
    lint: LintTogether
    ask_prometheus: Callable[[str], Missing | None]
    """The failure of a query to a URL, None where it was answered."""


async def look(cluster: ClusterObjects, wanted: Wanted, means: Means) -> list[Finding]:
    """All findings, in the order in which one would put them right."""
    version, kubernetes = rights.judge_version(await cluster.get("/version"))
    if not kubernetes and version.verdict is Verdict.FAIL:
        return [version]
    document = await cluster.get(API_SERVICE)
    is_ours = api_service.is_ours(document, wanted.namespace)
    findings = [
        version,
        rights.judge_authentication_config(await cluster.get(rights.AUTHENTICATION_CONFIG)),
        api_service.judge_owner(document, wanted.namespace),
    ]
    if is_ours and not isinstance(document, Refused):
        findings.append(api_service.judge_availability(document))
        findings.append(api_service.judge_certificate(document, datetime.fromtimestamp(wanted.now, UTC)))
    # Discovery, which everybody may read, tells whether there is such a kind; a list is refused to who may not list.
    has_kind = not isinstance(await cluster.get(SCALING_POLICIES.rpartition("/")[0]), Refused)
    objects = await cluster.get(SCALING_POLICIES) if has_kind else Refused(404, "there is no such kind")
    needed = rights.ADAPTER_RIGHTS + (rights.POLICY_RIGHTS if has_kind else ())
    answers = await _ask(cluster, needed, (wanted.namespace, "scaleproof"))
    findings += [rights.judge_adapter(answers, wanted.namespace, is_ours), _prometheus(wanted.prometheus, means)]
    policies, judged = await _policies(cluster, wanted, objects, means.library)
    findings.append(judged)
    hpas = await _hpas(cluster)
    if isinstance(hpas, Refused):
        found = f"cannot be read: {hpas}"
        fix = "run with rights to list horizontalpodautoscalers in all namespaces"
        return [*findings, Finding("autoscalers", "HPAs", found, Verdict.WARN, fix)]
    findings += judge_autoscalers(hpas, policies, is_ours, kubernetes or NEWEST_KUBERNETES, means.lint)
    asking = queries(hpas, policies)[:MAX_METRICS]
    reading = [rights.reading(namespace, name) for namespace, name, _ in asking]
    findings.append(rights.judge_readers(await _ask(cluster, reading, rights.HPA_CONTROLLER)))
    if is_ours:
        findings.append(judge_signals({_shown(*one): await _signal(cluster, *one) for one in asking}))
    return findings


async def _ask(cluster: ClusterObjects, asking: Iterable[Right], who: tuple[str, str]) -> rights.Answers:
    answers = []
    for right in asking:
        answers.append((right, rights.is_allowed(await cluster.post(rights.REVIEWS, rights.review(right, who)))))
    return answers


def _prometheus(url: str | None, means: Means) -> Finding:
    if url is None:
        found = "not asked"
        return Finding("prometheus", "Prometheus", found, Verdict.WARN, "give --prometheus URL, as seen from here")
    failure = means.ask_prometheus(url)
    if failure is None:
        return Finding("prometheus", url, "answers a query", Verdict.OK)
    fix = "give the URL by which it is reached from here; from a pod the Service's name, if the NetworkPolicy allows"
    return Finding("prometheus", url, f"{failure.reason}: {failure.message}", Verdict.FAIL, fix)


async def _policies(
    cluster: ClusterObjects, wanted: Wanted, objects: Document | Refused, library: PresetLibrary
) -> tuple[Sequence[LoadedPolicy], Finding]:
    """The policies of the paths that were given, else those that are installed."""
    if wanted.policies:
        checked = check_paths(list(wanted.policies))
        return checked.loaded, judge_policies(checked.loaded, checked.problems, ", ".join(map(str, wanted.policies)))
    loaded: list[LoadedPolicy] = []
    problems: list[Problem] = []
    for file, text in await _installed(cluster, wanted.namespace, objects):
        good, wrong = read_policies(text, file, library)
        loaded += good
        problems += wrong
    problems += collisions(loaded)
    return loaded, judge_policies(loaded, problems, f"ConfigMap {wanted.namespace}/{POLICIES}, and ScalingPolicies")


async def _installed(cluster: ClusterObjects, namespace: str, objects: Document | Refused) -> list[tuple[str, str]]:
    """Name and text of each policy in the adapter's ConfigMap, and of each that is an object of its own."""
    found = await cluster.get(f"/api/v1/namespaces/{namespace}/configmaps/{POLICIES}")
    files = {} if isinstance(found, Refused) else found.get("data") or {}
    texts = [(f"{POLICIES}/{file}", str(text)) for file, text in sorted(files.items())]
    for one in [] if isinstance(objects, Refused) else objects.get("items") or []:
        metadata = {key: one["metadata"][key] for key in ("name", "namespace")}
        document = {"apiVersion": "scaleproof.dev/v1alpha1", "kind": "ScalingPolicy", "metadata": metadata}
        texts.append(("/".join(reversed(metadata.values())), json.dumps({**document, "spec": one["spec"]})))
    return texts


async def _hpas(cluster: ClusterObjects) -> list[Document] | Refused:
    """All HPAs, page by page; of more than anybody has, none rather than some."""
    items: list[Document] = []
    token = ""
    for _ in range(MAX_PAGES):
        page = await cluster.get(f"{HPAS}?limit={PAGE}" + (f"&continue={quote(token)}" if token else ""))
        if isinstance(page, Refused):
            return page
        items += page.get("items") or []
        token = str((page.get("metadata") or {}).get("continue") or "")
        if not token:
            return items
    return Refused(0, f"there are more than {PAGE * MAX_PAGES}")


async def _signal(cluster: ClusterObjects, namespace: str, name: str, selector: str) -> Document | Refused:
    path = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{quote(name)}"
    return await cluster.get(path + (f"?labelSelector={quote(selector)}" if selector else ""))


def _shown(namespace: str, name: str, selector: str) -> str:
    return f"{namespace}/{name}" + (f" ({selector})" if selector else "")
