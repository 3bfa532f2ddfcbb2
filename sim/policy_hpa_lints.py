"""Lints of a policy and its HPA together: whether the one asks for what the other publishes, and moves as it means.

Knows the HPA by the model's own reader and the policies by the core. Called by name from `check --hpa`, so that a plain
check loads nothing of the simulator.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import inf
from typing import Any

from adapter.core.demand import TermPlan
from adapter.core.documents import Document, Path, read_documents
from adapter.core.group_names import alias
from adapter.core.label_syntax import value_faults
from adapter.core.lint_catalogue import CATALOGUE, Group
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.problems import Problem
from adapter.core.quantity import parse_milli
from adapter.core.rules import Rules
from adapter.core.silencing import apply_silence
from sim.hpa.findings import dotted
from sim.hpa.manifest import KIND, Manifest, read_manifests
from sim.hpa.versions import VERSIONS

Found = tuple[Path, str, str, str]

DEFAULT_DOWN_WINDOW_SECONDS = 300
SHORT_DOWN_WINDOW_SECONDS = 120
HIGHEST_USEFUL = 1 / 1.1
"""With a tolerance of 10 % a bounded metric at its bound scales only above a target of 0.909 of it."""

_TARGETS = {"replicas": "AverageValue", "total": "AverageValue", "ratio": "Value"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """What of a Kubernetes version matters here."""

    name: str
    has_tolerance: bool
    has_scale_to_zero: bool


def read_cluster(text: str) -> Cluster:
    """A version such as 1.34 or v1.36.3; ValueError where it is none."""
    parts = text.removeprefix("v").split(".")
    if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
        raise ValueError(f'"{text}" is no Kubernetes version; write e.g. 1.36')
    version = (int(parts[0]), int(parts[1]))
    # The model names versions from that one on in which the field exists; a later one than it knows is like its last.
    known = {tuple(map(int, name.split("."))): one for name, one in VERSIONS.items()}
    nearest = max((one for one in known if one <= version), default=None)
    is_known = nearest is not None and known[nearest].scale_to_zero_by_default
    return Cluster(f"{version[0]}.{version[1]}", nearest is not None, is_known)


def lint_together(policies: Sequence[LoadedPolicy], text: str, file: str, kubernetes: str) -> list[Problem]:
    """Every problem of the HPAs of a file, alone and with the policies whose metrics they ask for."""
    cluster = read_cluster(kubernetes)
    manifests, problems = read_manifests(text, file, scale_to_zero=True, configurable_tolerance=cluster.has_tolerance)
    documents = [one for one in read_documents(text, file)[0] if _is_hpa(one)]
    for manifest in manifests:
        document = next(one for one in documents if one.value_at(()) == manifest.position)
        problems += _lint_one(manifest, document, policies, cluster)
    return sorted(problems, key=lambda problem: problem.position)


def _is_hpa(document: Document) -> bool:
    return isinstance(document.value, dict) and document.value.get("kind") == KIND


def _lint_one(
    manifest: Manifest, document: Document, policies: Sequence[LoadedPolicy], cluster: Cluster
) -> list[Problem]:
    asked: dict[tuple[str, str], LoadedPolicy] = {}
    problems: list[Problem] = []
    by_policy: dict[tuple[str, str], list[Problem]] = {}
    for index, metric in enumerate(manifest.fields.get("metrics") or []):
        if metric.get("type") != "External":
            continue
        path: Path = ("spec", "metrics", index, "external")
        external = metric["external"]
        name = external["metric"]["name"]
        publisher = _publisher(policies, manifest.namespace, name)
        if publisher is None:
            problems.append(_problem(document, _unknown(path, name, manifest.namespace, policies)))
            continue
        asked[publisher.policy.key] = publisher
        mine = by_policy.setdefault(publisher.policy.key, [])
        mine += [_problem(document, one) for one in _metric(external, path, publisher)]
    for key, publisher in asked.items():
        found = [*_bounds(manifest, publisher, cluster), *_behavior(manifest, publisher, cluster)]
        together = [*by_policy[key], *(_problem(document, one) for one in found)]
        problems += apply_silence(together, publisher.policy, publisher.document, frozenset({Group.HPA}))
    return problems


def _problem(document: Document, found: Found) -> Problem:
    path, code, message, fix = found
    severity = CATALOGUE[code].severity
    return Problem(document.file, document.value_at(path), code, f"{dotted(path)}: {message}", fix, severity)


def _publisher(policies: Sequence[LoadedPolicy], namespace: str, name: str) -> LoadedPolicy | None:
    for one in policies:
        if one.policy.metadata.namespace == namespace and one.policy.spec.publish.metric.lower() == name.lower():
            return one
    return None


def _unknown(path: Path, name: str, namespace: str, policies: Sequence[LoadedPolicy]) -> Found:
    elsewhere = [one for one in policies if one.policy.spec.publish.metric.lower() == name.lower()]
    message = f'no policy publishes "{name}" in the namespace {namespace}, so the answer is 404 for ever'
    here = {
        one.policy.spec.publish.metric.lower(): one.policy.spec.publish.metric
        for one in policies
        if one.policy.metadata.namespace == namespace
    }
    close = get_close_matches(name.lower(), here, n=1)
    if elsewhere:
        fix = f"it is published in {elsewhere[0].policy.metadata.namespace}: HPA and policy share a namespace"
    elif close:
        fix = f"did you mean {here[close[0]]}?"
    else:
        fix = f"published there: {', '.join(sorted(here.values())) or 'nothing'}"
    return ((*path, "metric", "name"), "hpa-metric-unknown", message, fix)


def _metric(external: Mapping[str, Any], path: Path, publisher: LoadedPolicy) -> Iterator[Found]:
    publish = publisher.policy.spec.publish
    target = external["target"]
    wanted = _TARGETS[publish.as_]
    value = target.get("averageValue" if wanted == "AverageValue" else "value")
    if target["type"] != wanted or value is None:
        message = f"the policy publishes {publish.as_}, which a target of type {target['type']} misreads"
        if publish.as_ == "replicas":
            message += ": the HPA multiplies it by the replicas there are"
        yield ((*path, "target", "type"), "hpa-target-type", message, f"write type: {wanted}")
        return
    yield from _selector_values(external["metric"].get("selector") or {}, (*path, "metric", "selector"))
    yield from _target(parse_milli(str(value)), (*path, "target"), wanted, publisher)
    if publisher.policy.spec.by and not external["metric"].get("selector") and not publish.sum:
        labels = ", ".join(publisher.policy.spec.by)
        message = f"the policy has one signal per {labels}, and more than one in an answer is refused"
        fix = f"write selector: {{matchLabels: {{{next(iter(publisher.policy.spec.by))}: …}}}}"
        yield ((*path, "metric"), "hpa-selector-missing", message, fix)


def _selector_values(selector: Mapping[str, Any], path: Path) -> Iterator[Found]:
    """Values that no label can have: the API server stores them unread, and each question with one is a 400."""
    values: list[tuple[Path, str]] = []
    for key, value in (selector.get("matchLabels") or {}).items():
        values.append(((*path, "matchLabels", key), str(value)))
    for index, one in enumerate(selector.get("matchExpressions") or []):
        for number, value in enumerate(one.get("values") or []):
            values.append(((*path, "matchExpressions", index, "values", number), str(value)))
    for place, value in values:
        if value_faults(value):
            message = f'"{value[:80]}" is no label value, so every question of the HPA is refused with 400'
            yield (place, "selector-value-not-expressible", message, f"write {alias(value)}, as the group is served")


def _target(milli: int, path: Path, wanted: str, publisher: LoadedPolicy) -> Iterator[Found]:
    publish = publisher.policy.spec.publish
    field = "averageValue" if wanted == "AverageValue" else "value"
    if publish.as_ != "total" and milli != 1000:
        message = f"{publish.as_} ÷ {milli / 1000:g} is not what the policy asks for"
        yield ((*path, field), "hpa-target-value", message, f'write {field}: "1"')
    if publish.as_ == "total":
        bound = _bound(publisher.rules.terms)
        if milli / 1000 >= bound * HIGHEST_USEFUL:
            message = (
                f"a replica gives at most {bound:g}, which exceeds {milli / 1000:g} by 10 % at most: it never scales"
            )
            yield ((*path, field), "hpa-target-unreachable", message, f"write at most {0.8 * bound:g}")


def _bound(terms: Sequence[TermPlan]) -> float:
    """The most that one replica can add to the total."""
    bounds = [inf if part.bound is None else part.bound for term in terms for part in term.components]
    return min(bounds, default=inf)


def _bounds(manifest: Manifest, publisher: LoadedPolicy, cluster: Cluster) -> Iterator[Found]:
    fields, spec = manifest.fields, publisher.policy.spec
    highest = fields["maxReplicas"]
    rules = publisher.rules
    if spec.publish.as_ == "replicas":
        if rules.ceiling is not None and rules.ceiling < highest:
            message = f"maxReplicas {highest} is above the ceiling {rules.ceiling:g}, so it is never reached"
            yield (("spec", "maxReplicas"), "hpa-max-above-ceiling", message, f"write {rules.ceiling:g}, or raise it")
        if rules.floor is not None and rules.floor > highest:
            message = f"maxReplicas {highest} is below the floor {rules.floor:g}"
            yield (("spec", "maxReplicas"), "hpa-floor-above-max", message, "lower the floor or raise maxReplicas")
    deployment = getattr(spec.replicas, "match", {}).get("deployment")
    if deployment is not None and not deployment.startswith("~") and deployment != manifest.target_name:
        message = f"the HPA scales {manifest.target_name}, the policy reads the replicas of {deployment}"
        yield (("spec", "scaleTargetRef", "name"), "hpa-other-workload", message, "name one workload in both")
    if fields.get("minReplicas") == 0:
        path: Path = ("spec", "minReplicas")
        if not cluster.has_scale_to_zero:
            message = f"Kubernetes {cluster.name} refuses 0 unless its feature gate HPAScaleToZero is on"
            yield (path, "hpa-zero-gate", message, "write 1, or turn the gate on")
        if all(one.pod_place is not None for one in publisher.plan.inputs.values() if ":" not in one.name):
            message = "every input comes from pods, and with none there is no signal that asks for the first"
            yield (path, "hpa-zero-pod-inputs", message, "add a term on the gateway's queue or arrivals, with per: []")


def _behavior(manifest: Manifest, publisher: LoadedPolicy, cluster: Cluster) -> Iterator[Found]:
    behavior = manifest.fields.get("behavior") or {}
    up, down = behavior.get("scaleUp") or {}, behavior.get("scaleDown") or {}
    path: Path = ("spec", "behavior")
    for name, rules in (("scaleUp", up), ("scaleDown", down)):
        tolerance = rules.get("tolerance")
        place = (*path, name, "tolerance")
        if tolerance is not None and not cluster.has_tolerance:
            message = f"Kubernetes {cluster.name} drops tolerance, so a change of up to 10 % is ignored"
            yield (
                place,
                "hpa-tolerance-dropped",
                message,
                "upgrade to 1.35, or run the controller with a tolerance of 0",
            )
        elif cluster.has_tolerance and (tolerance is None or parse_milli(str(tolerance)) != 0):
            shown = "10 %" if tolerance is None else f"{parse_milli(str(tolerance)) / 10:g} %"
            message = f"{name} ignores a change of up to {shown}: of 10 replicas asked for 11, none comes"
            if publisher.policy.spec.publish.as_ != "total":
                yield (place, "hpa-tolerance-missing", message, f'write behavior.{name}.tolerance: "0"')
    window = down.get("stabilizationWindowSeconds", DEFAULT_DOWN_WINDOW_SECONDS)
    if window < SHORT_DOWN_WINDOW_SECONDS and _uses_n(publisher):
        message = f"a window of {window} s is short for a policy that goes by N, which is read up to 60 s late"
        place = (*path, "scaleDown", "stabilizationWindowSeconds")
        yield (place, "hpa-down-window-short", message, "write 300, at least 120")
    delay = up.get("stabilizationWindowSeconds", 0)
    if delay > 0 and any(term.shape is not None and term.shape.up is not None for term in publisher.rules.terms):
        message = f"the policy smooths upwards already, and {delay} s come on top"
        place = (*path, "scaleUp", "stabilizationWindowSeconds")
        yield (place, "hpa-up-window", message, "write 0")


def _uses_n(publisher: LoadedPolicy) -> bool:
    """Whether the signal follows N: an interval is clamped into, or something is told by it."""
    spec, rules = publisher.policy.spec, publisher.rules
    if spec.replicas is None:
        return False
    is_interval = any(part.divisor_up != part.divisor_down for term in rules.terms for part in term.components) or any(
        term.numbers is not None and term.numbers[0] != term.numbers[1] for term in rules.terms
    )
    is_raising = any(term.latency is not None for term in rules.terms)
    has_bounds = rules.bounds != Rules(()).bounds
    return bool(is_interval or is_raising or rules.guards or has_bounds or spec.publish.as_ == "ratio")
