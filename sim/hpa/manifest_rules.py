"""The API server's validation of an autoscaling/v2 spec, rule by rule.

Takes a spec that decodes (see manifest_fields.py) and yields every reason to refuse it. It is the validation that
counts, not good taste: an External target of type Value with an averageValue is accepted there, and so here.
Source: k8s.io/kubernetes/pkg/apis/autoscaling/validation (validation.go), strategy.go for the options.
"""

from collections.abc import Generator, Iterator, Mapping
from typing import Any

from adapter.core.documents import Path
from sim.hpa.findings import Finding, dotted
from sim.hpa.manifest_fields import integer_of, quantity_text
from sim.hpa.metadata_rules import check_container_name, check_container_resource_name, check_path_segment
from sim.hpa.quantities import parse
from sim.hpa.spec import PolicyType, SelectPolicy

Fields = Mapping[str, Any]

MAX_PERIOD_SECONDS = 1800
MAX_WINDOW_SECONDS = 3600
_SOURCES = {
    "Object": "object",
    "External": "external",
    "Pods": "pods",
    "Resource": "resource",
    "ContainerResource": "containerResource",
}
_TARGET_TYPES = ("Utilization", "Value", "AverageValue")
_EMPTY: Fields = {}


def check_spec(spec: Fields, scale_to_zero: bool, configurable_tolerance: bool = True) -> Iterator[Finding]:
    """Every reason why the API server refuses a spec; with the tolerance gate off it drops that field unread."""
    path: Path = ("spec",)
    yield from _check_bounds(spec, path, 0 if scale_to_zero else 1)
    yield from _check_target_reference(spec.get("scaleTargetRef") or _EMPTY, (*path, "scaleTargetRef"))
    metrics = spec.get("metrics") or []
    for index, metric in enumerate(metrics):
        yield from _check_metric(metric or _EMPTY, (*path, "metrics", index))
    types = {(metric or _EMPTY).get("type") for metric in metrics}
    if _number(spec.get("minReplicas")) == 0 and not types & {"Object", "External"}:
        yield Finding(
            (*path, "metrics"),
            "scale-to-zero",
            "minReplicas 0 needs at least one Object or External metric",
            "add one, or raise minReplicas",
        )
    behavior = spec.get("behavior") or _EMPTY
    for direction in ("scaleUp", "scaleDown"):
        rules = behavior.get(direction)
        if rules is not None:
            yield from _check_rules(rules, (*path, "behavior", direction), configurable_tolerance)


def _number(value: object) -> int | None:
    return None if value is None else integer_of(value)


def _required(path: Path, fix: str) -> Finding:
    return Finding(path, "required", f"{dotted(path)} is required", fix)


def _invalid(path: Path, value: object, rule: str, fix: str = "") -> Finding:
    return Finding(path, "invalid", f"{dotted(path)} is {value}, it {rule}", fix or f"write a value that {rule}")


def _check_bounds(spec: Fields, path: Path, lowest: int) -> Iterator[Finding]:
    minimum, maximum = _number(spec.get("minReplicas")), _number(spec.get("maxReplicas")) or 0
    if minimum is not None and minimum < lowest:
        fix = "" if lowest == 0 or minimum < 0 else "write 1 or more; 0 needs the feature gate HPAScaleToZero"
        yield _invalid((*path, "minReplicas"), minimum, f"must be at least {lowest}", fix)
    if maximum == 0:
        yield _required((*path, "maxReplicas"), "write the largest count, 1 or more")
    elif maximum < 0:
        yield _invalid((*path, "maxReplicas"), maximum, "must be at least 1")
    if minimum is not None and 0 < maximum < minimum:
        yield _invalid((*path, "maxReplicas"), maximum, f"must be at least minReplicas ({minimum})")


def _check_target_reference(reference: Fields, path: Path) -> Iterator[Finding]:
    core_allowed = reference.get("kind") == "ReplicationController"
    yield from _check_reference(reference, path, core_allowed)


def _check_reference(reference: Fields, path: Path, empty_group_allowed: bool) -> Iterator[Finding]:
    for name in ("kind", "name"):
        value = reference.get(name) or ""
        if value == "":
            yield _required((*path, name), "name the object, e.g. kind Deployment and its name")
        yield from check_path_segment(value, (*path, name))
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        yield _invalid((*path, "apiVersion"), f'"{version}"', "must be group/version", "write e.g. apps/v1")
    elif not empty_group_allowed and version.partition("/")[0 if "/" in version else 1] == "":
        yield _invalid((*path, "apiVersion"), f'"{version}"', "must name an API group", "write e.g. apps/v1")


def _check_metric(metric: Fields, path: Path) -> Iterator[Finding]:
    kind = metric.get("type") or ""
    if kind not in _SOURCES:
        yield _invalid((*path, "type"), f'"{kind}"', f"must be one of {', '.join(_SOURCES)}")
    present = [name for name in _SOURCES.values() if metric.get(name) is not None]
    if present:
        yield from _CHECKS[present[0]](metric[present[0]], (*path, present[0]))
    expected = _SOURCES.get(kind, "")
    if expected and expected not in present:
        yield _required((*path, expected), f"describe the {kind} metric there")
    if len(present) != 1:
        for name in present:
            if name != expected:
                message = f"{dotted((*path, name))} does not belong to a metric of type {kind}"
                yield Finding((*path, name), "forbidden", message, "remove it", at_key=True)


def _check_object(source: Fields, path: Path) -> Iterator[Finding]:
    yield from _check_reference(source.get("describedObject") or _EMPTY, (*path, "describedObject"), True)
    target = yield from _check_identified(source, path)
    if target.get("value") is None and target.get("averageValue") is None:
        yield _required((*path, "target", "averageValue"), "set value or averageValue")


def _check_external(source: Fields, path: Path) -> Iterator[Finding]:
    target = yield from _check_identified(source, path)
    has_value, has_average = target.get("value") is not None, target.get("averageValue") is not None
    if not has_value and not has_average:
        yield _required((*path, "target", "averageValue"), "set value or averageValue")
    if has_value and has_average:
        message = f"{dotted((*path, 'target'))} has both value and averageValue"
        yield Finding((*path, "target", "value"), "forbidden", message, "keep one of the two", at_key=True)


def _check_pods(source: Fields, path: Path) -> Iterator[Finding]:
    target = yield from _check_identified(source, path)
    if target.get("averageValue") is None:
        yield _required((*path, "target", "averageValue"), "set a positive averageValue")


def _check_resource(source: Fields, path: Path) -> Iterator[Finding]:
    if not source.get("name"):
        yield _required((*path, "name"), "name the resource, e.g. cpu")
    yield from _check_utilization(source, path)


def _check_container_resource(source: Fields, path: Path) -> Iterator[Finding]:
    if not source.get("name"):
        yield _required((*path, "name"), "name the resource, e.g. cpu")
    else:
        yield from check_container_resource_name(source["name"], (*path, "name"))
    if not source.get("container"):
        yield _required((*path, "container"), "name the container")
    else:
        yield from check_container_name(source["container"], (*path, "container"))
    yield from _check_utilization(source, path)


def _check_utilization(source: Fields, path: Path) -> Iterator[Finding]:
    target = source.get("target") or _EMPTY
    yield from _check_metric_target(target, (*path, "target"))
    has_utilization = target.get("averageUtilization") is not None
    has_average = target.get("averageValue") is not None
    if not has_utilization and not has_average:
        yield _required((*path, "target", "averageUtilization"), "set averageUtilization or averageValue")
    if has_utilization and has_average:
        message = f"{dotted((*path, 'target'))} has both averageUtilization and averageValue"
        yield Finding((*path, "target", "averageValue"), "forbidden", message, "keep one of the two", at_key=True)


_CHECKS = {
    "object": _check_object,
    "external": _check_external,
    "pods": _check_pods,
    "resource": _check_resource,
    "containerResource": _check_container_resource,
}


def _check_identified(source: Fields, path: Path) -> Generator[Finding, None, Fields]:
    """Check the metric's name and its target; gives the target back."""
    name = (source.get("metric") or _EMPTY).get("name") or ""
    if name == "":
        yield _required((*path, "metric", "name"), "name the metric")
    yield from check_path_segment(name, (*path, "metric", "name"))
    target: Fields = source.get("target") or _EMPTY
    yield from _check_metric_target(target, (*path, "target"))
    return target


def _check_metric_target(target: Fields, path: Path) -> Iterator[Finding]:
    kind = target.get("type") or ""
    if kind not in _TARGET_TYPES:
        yield _invalid((*path, "type"), f'"{kind}"', f"must be one of {', '.join(_TARGET_TYPES)}")
    for name in ("value", "averageValue"):
        value = target.get(name)
        if value is not None and parse(quantity_text(value)).sign != 1:
            yield _invalid((*path, name), value, "must be positive")
    utilization = _number(target.get("averageUtilization"))
    if utilization is not None and utilization < 1:
        yield _invalid((*path, "averageUtilization"), utilization, "must be at least 1")


def _check_rules(rules: Fields, path: Path, configurable_tolerance: bool) -> Iterator[Finding]:
    window = _number(rules.get("stabilizationWindowSeconds"))
    if window is not None and not 0 <= window <= MAX_WINDOW_SECONDS:
        yield _invalid((*path, "stabilizationWindowSeconds"), window, f"must be in 0..{MAX_WINDOW_SECONDS}")
    select = rules.get("selectPolicy")
    if select is not None and select not in tuple(SelectPolicy):
        yield _invalid((*path, "selectPolicy"), f'"{select}"', f"must be one of {', '.join(SelectPolicy)}")
    policies = rules.get("policies")
    if policies is not None and not policies:
        yield _invalid((*path, "policies"), "empty", "must have at least one policy", "add one, or leave policies out")
    for index, policy in enumerate(policies or []):
        yield from _check_policy(policy or _EMPTY, (*path, "policies", index))
    tolerance = rules.get("tolerance")
    if configurable_tolerance and tolerance is not None and parse(quantity_text(tolerance)).sign < 0:
        yield _invalid((*path, "tolerance"), tolerance, "must not be negative")


def _check_policy(policy: Fields, path: Path) -> Iterator[Finding]:
    kind = policy.get("type") or ""
    if kind not in tuple(PolicyType):
        yield _invalid((*path, "type"), f'"{kind}"', f"must be one of {', '.join(PolicyType)}")
    value, period = _number(policy.get("value")) or 0, _number(policy.get("periodSeconds")) or 0
    if value <= 0:
        yield _invalid((*path, "value"), value, "must be at least 1")
    if not 0 < period <= MAX_PERIOD_SECONDS:
        yield _invalid((*path, "periodSeconds"), period, f"must be in 1..{MAX_PERIOD_SECONDS}")
