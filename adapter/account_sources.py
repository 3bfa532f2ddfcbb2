"""Account sources: the two ways to the accounts of a running adapter, its metrics address and the cluster's API.

Through the API one is somebody, and gets what one may read; at the metrics address (a port-forward) one is nobody and
gets all. Both give the same documents. Knows nothing of how they are shown.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from adapter.core.external_metrics import GROUP_VERSION
from adapter.kube_raw import MAX_BODY_BYTES, RawAnswer, RawApi, RawApiError

CALL_SECONDS = 10.0
MAX_CANDIDATES = 20
SHOWN_NAMES = 8


class UnknownSignalError(Exception):
    """There is no such policy, or no such group of it; the message suggests what there is."""


class UnreachableError(Exception):
    """No adapter answers, or not to this user; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What is to be explained: a policy, or a metric, by its name in a namespace, and which of its groups."""

    namespace: str
    name: str
    selector: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


Explanation = Mapping[str, Any]


async def by_url(url: str, subject: Subject) -> Explanation:
    """The explanation from the metrics address of an adapter."""
    base = url.rstrip("/").removesuffix("/metrics")
    if urlsplit(base).scheme not in ("http", "https"):
        raise UnreachableError(f'"{url}" is no address of an adapter; give --url http://127.0.0.1:8080')
    for key in ("policy", "metric"):
        asked = {"namespace": subject.namespace, key: subject.name, "labelSelector": subject.selector}
        found = await asyncio.to_thread(_fetch, base, asked)
        if found["signals"]:
            return found
    every = (await asyncio.to_thread(_fetch, base, {"summary": "true"}))["signals"]
    own = [one for one in every if one["namespace"] == subject.namespace and subject.name.lower() in _names(one)]
    if own:
        raise UnknownSignalError(_no_group(subject, [one["labels"] for one in own]))
    raise UnknownSignalError(_no_policy(subject, sorted({f"{one['namespace']}/{one['policy']}" for one in every})))


def _fetch(base: str, query: Mapping[str, str]) -> Explanation:
    fix = "start `kubectl -n scaleproof-system port-forward deployment/scaleproof 8080`, or leave --url out"
    request = Request(f"{base}/explain?{urlencode(query)}", headers={"Accept": "application/json"})  # noqa: S310 - checked
    # No proxy of the environment between this and a port-forward.
    is_near = (urlsplit(base).hostname or "") in ("localhost", "127.0.0.1", "::1")
    opener = build_opener(ProxyHandler({})) if is_near else build_opener()
    try:
        with opener.open(request, timeout=CALL_SECONDS) as answer:
            document = json.loads(answer.read(MAX_BODY_BYTES))
    except HTTPError as error:
        with error:
            said = error.read(2000).decode("utf-8", "replace").strip()
        if error.code == 400:
            raise UnknownSignalError(said) from error
        raise UnreachableError(f"{base}/explain answered {error.code}: {said}") from error
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise UnreachableError(f"no adapter answers at {base}: {reason}; {fix}") from error
    if not isinstance(document, dict) or document.get("kind") != "Explanation":
        raise UnreachableError(f"{base}/explain is not that of an adapter; {fix}")
    return document


async def by_cluster(kubeconfig: Path | None, context: str | None, subject: Subject) -> Explanation:
    """The explanation through the aggregator, for whoever the kubeconfig says one is."""
    try:
        async with RawApi(kubeconfig, context) as api:
            return await _through(api, subject)
    except RawApiError as error:
        raise UnreachableError(str(error)) from error


async def _through(api: RawApi, subject: Subject) -> Explanation:
    """A metric is read by its own name; a policy's name leads to it by its object, by habit, or by an HPA that asks."""
    tried: list[str] = []
    refusals: list[str] = []
    async for metric in _candidates(api, subject):
        if metric in tried or len(tried) >= MAX_CANDIDATES:
            continue
        tried.append(metric)
        answer = await api.get(_metric_path(subject.namespace, metric), _query(subject))
        if answer.status == 403:
            refusals.append(answer.message)
            continue
        found = _read(answer)
        if found is not None and any(subject.name.lower() in _names(one) for one in found["signals"]):
            return found
    if refusals:
        role = f"the verb list on {tried[0]} of API group external.metrics.k8s.io in namespace {subject.namespace}"
        raise UnreachableError(f"{refusals[0]}; ask for {role}, which is what reading the metric takes")
    raise UnknownSignalError(_no_policy(subject, [f"{subject.namespace}/{metric}" for metric in tried[2:]]))


def _names(signal: Mapping[str, Any]) -> tuple[str, str]:
    return str(signal["policy"]).lower(), str(signal["metric"]).lower()


async def _candidates(api: RawApi, subject: Subject) -> AsyncIterator[str]:
    """Names of metrics that may be the policy's."""
    yield subject.name
    yield f"{subject.name}-replicas"
    namespace = quote(subject.namespace, safe="")
    name = quote(subject.name, safe="")
    policy = await api.get(f"/apis/scaleproof.dev/v1alpha1/namespaces/{namespace}/scalingpolicies/{name}", {})
    if policy.status == 200:
        metric = policy.document.get("spec", {}).get("publish", {}).get("metric")
        if isinstance(metric, str):
            yield metric
    path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
    for autoscaler in (await api.get(path, {"limit": "200"})).document.get("items", []):
        for metric in autoscaler["spec"].get("metrics", []):
            if metric.get("type") == "External":
                yield metric["external"]["metric"]["name"]


def _metric_path(namespace: str, metric: str) -> str:
    return f"/apis/{GROUP_VERSION}/namespaces/{quote(namespace, safe='')}/{quote(metric, safe='')}"


def _query(subject: Subject) -> Mapping[str, str]:
    return {"explain": "true", **({"labelSelector": subject.selector} if subject.selector else {})}


def _read(answer: RawAnswer) -> Explanation | None:
    """The explanation, None where there is no such metric; what stands in the way of any is an error."""
    if answer.status == 200:
        if answer.document.get("kind") != "Explanation":
            text = f"{GROUP_VERSION} of this cluster is served by something that explains nothing"
            raise UnreachableError(f"{text}; see `kubectl get apiservice v1beta1.external.metrics.k8s.io`")
        return answer.document
    if answer.status == 404:
        if answer.document.get("details", {}).get("group"):
            return None
        raise UnreachableError(
            f"the cluster does not serve {GROUP_VERSION}: {answer.message};"
            " register it (manifests/base/api-service.yaml), or port-forward and give --url"
        )
    if answer.status == 400:
        raise UnknownSignalError(answer.message)
    raise UnreachableError(
        f"the cluster's API answered {answer.status}: {answer.message};"
        " see `kubectl get apiservice v1beta1.external.metrics.k8s.io`, or port-forward and give --url"
    )


def _no_policy(subject: Subject, known: Sequence[str]) -> str:
    text = f"no policy and no metric is called {subject}"
    if subject.selector:
        text += f", or none of its groups matches {subject.selector}"
    near = get_close_matches(str(subject), known, n=3, cutoff=0.75)
    if near:
        return f"{text}; did you mean {' or '.join(near)}?"
    if not known:
        return f"{text}; give the name of the policy or of the metric that the HPA asks for"
    return f"{text}; there are {_listed(known)}"


def _no_group(subject: Subject, labels: Sequence[Mapping[str, str]]) -> str:
    groups = [",".join(f"{name}={value}" for name, value in one.items()) for one in labels]
    return f"no group of {subject} matches {subject.selector}; there are {_listed(groups)}"


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN_NAMES])
    return f"{shown} and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else shown
