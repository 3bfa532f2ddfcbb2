"""Decision vectors: scenarios and the controller's results as JSON, into the model's types and back.

The format is that of tests/hpa/vectors/README.md. A field or kind this model does not have raises NotModelledError by
name; what is no scenario raises ScenarioError. Knows nothing about files or comparing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sim.hpa.account import Account
from sim.hpa.arithmetic import MAX32, MAX64, MIN32, MIN64
from sim.hpa.findings import Finding
from sim.hpa.flags import ControllerFlags, nanoseconds, read_gates
from sim.hpa.manifest_fields import decode
from sim.hpa.manifest_rules import check_spec
from sim.hpa.manifest_spec import spec_of
from sim.hpa.observation import Observation, Reading
from sim.hpa.quantities import Quantity, QuantityError, canonical, milli_value, parse, stored_quantity
from sim.hpa.reconcile import Decision, reconcile
from sim.hpa.spec import Metric, MetricKind, Spec, TargetType, resolve
from sim.hpa.state import MetricStatus, State
from sim.hpa.versions import NotModelledError, Version

Json = Mapping[str, Any]


class ScenarioError(ValueError):
    """The text is not a scenario; the message says what is wrong."""


class InvalidHpaError(ValueError):
    """The API server would refuse the HPA of a scenario, or an edit of it."""


_MAX_SECONDS = 1e9
_NAME_IN_MESSAGE = re.compile(r"[^( ]+")
_EXACT_MILLI = 10**18
"""Milli-units of up to 18 digits come through the API as they are; longer ones take the slow path of quantities."""

_FIELDS = {
    "scenario": "name doc tags hpa controller featureGates initialReplicas steps expect",
    "hpa": "minReplicas maxReplicas metrics behavior",
    "metric": "type name selector targetType target",
    "controller": "syncPeriodSeconds downscaleStabilizationSeconds tolerance reconcileLatencyMillis"
    " initialReadinessDelaySeconds cpuInitializationPeriodSeconds",
    "step": "metrics readyPods pendingPods statusReplicas specReplicasOverride scaleGetError scaleUpdateError hpa",
}
_KNOWN = {name: frozenset(fields.split()) for name, fields in _FIELDS.items()}


@dataclass(frozen=True, slots=True)
class Scenario:
    """One HPA, one controller and what happens at each reconcile, still as JSON where it changes from step to step."""

    name: str
    hpa: Json
    flags: ControllerFlags
    initial_replicas: int
    steps: tuple[Json, ...]


class Step(NamedTuple):
    """One reconcile of a scenario as the model decided it."""

    now_ns: int
    decision: Decision
    account: Account | None


def read_scenario(data: object, version: Version) -> Scenario:
    """The scenario in a JSON value."""
    fields = _known(data, "scenario")
    gates = fields.get("featureGates") or {}
    if not isinstance(gates, dict) or not all(isinstance(is_on, bool) for is_on in gates.values()):
        raise ScenarioError("featureGates is not an object of true and false")
    scale_to_zero, tolerance_gate = read_gates(version, gates)
    controller = _known(fields.get("controller") or {}, "controller")
    flags = ControllerFlags(
        nanoseconds(_seconds(controller, "syncPeriodSeconds", 15)),
        nanoseconds(_seconds(controller, "downscaleStabilizationSeconds", 300)),
        _seconds(controller, "tolerance", 0.1),
        int(_seconds(controller, "reconcileLatencyMillis", 0)) * 1_000_000,
        version,
        scale_to_zero,
        tolerance_gate,
    )
    steps = fields.get("steps")
    if not isinstance(steps, list):
        raise ScenarioError("steps is not a list")
    hpa = _known(fields.get("hpa"), "hpa")
    initial = _integer(fields, "initialReplicas", 0)
    return Scenario(str(fields.get("name", "")), hpa, flags, initial, tuple(_known(step, "step") for step in steps))


def _known(data: object, what: str) -> Json:
    if not isinstance(data, dict):
        raise ScenarioError(f"the {what} is not an object")
    for key in data:
        if key not in _KNOWN[what]:
            raise NotModelledError(f'the {what} field "{key}" is not modelled')
    return data


def _seconds(fields: Json, name: str, default: float) -> float:
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _MAX_SECONDS:
        raise ScenarioError(f"{name} is not a number below {_MAX_SECONDS}")
    return float(value)


def _integer(fields: Json, name: str, default: int) -> int:
    value = fields.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not MIN32 <= value <= MAX32:
        raise ScenarioError(f"{name} is not a whole number (int32)")
    return value


def run_scenario(scenario: Scenario, with_account: bool) -> Iterator[Step]:
    """The model's decision at every step; InvalidHpaError where the API server refuses the HPA or an edit."""
    hpa_fields = scenario.hpa
    spec = _spec(hpa_fields, scenario.flags)
    autoscaler = resolve(spec, scenario.flags)
    state, replicas = State(), scenario.initial_replicas
    for index, step in enumerate(scenario.steps):
        if step.get("hpa") is not None:
            edit = _known(step["hpa"], "hpa")
            # null removes the behavior; any other field that is null or absent stays.
            kept = {key: value for key, value in edit.items() if value is not None or key == "behavior"}
            hpa_fields = {**hpa_fields, **kept}
            spec = _spec(hpa_fields, scenario.flags)
            autoscaler = resolve(spec, scenario.flags)
        now = scenario.flags.sync_instant_ns(index)
        account = Account() if with_account else None
        seen = observe(spec, step, _integer(step, "specReplicasOverride", replicas))
        decision = reconcile(autoscaler, state, seen, now, account)
        state, replicas = decision.state, decision.replicas
        yield Step(now, decision, account)


def _spec(hpa: Json, flags: ControllerFlags) -> Spec:
    """The spec of a scenario's flat HPA, through the same decoding and validation as a manifest."""
    metrics = hpa.get("metrics") or []
    if not isinstance(metrics, list):
        raise ScenarioError("metrics of the hpa is not a list")
    fields = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
        "minReplicas": hpa.get("minReplicas"),
        "maxReplicas": hpa.get("maxReplicas"),
        "metrics": [_metric_fields(metric) for metric in metrics],
        "behavior": hpa.get("behavior"),
    }
    findings: list[Finding] = list(decode(fields, "Spec", ("spec",)))
    findings = findings or list(check_spec(fields, flags.scale_to_zero, flags.configurable_tolerance))
    if findings:
        raise InvalidHpaError("; ".join(finding.message for finding in findings))
    return spec_of(fields)


def _metric_fields(data: object) -> Json:
    metric = _known(data, "metric")
    kind, target_type = metric.get("type"), metric.get("targetType")
    if kind not in tuple(MetricKind):
        raise NotModelledError(f"{kind} metrics are not modelled; External, Object and Pods are")
    if target_type not in tuple(TargetType):
        raise NotModelledError(f'the target type "{target_type}" is not modelled')
    field = "averageValue" if target_type == TargetType.AVERAGE_VALUE else "value"
    source: dict[str, object] = {
        "metric": {"name": metric.get("name"), "selector": {"matchLabels": metric.get("selector")}},
        "target": {"type": target_type, field: metric.get("target")},
    }
    if kind == MetricKind.OBJECT:
        source["describedObject"] = {"apiVersion": "v1", "kind": "Service", "name": "svc"}
    return {"type": kind, str(kind).lower(): source}


def observe(spec: Spec, step: Json, spec_replicas: int) -> Observation:
    """What a step shows the controller."""
    status = _integer(step, "statusReplicas", spec_replicas)
    readings = step.get("metrics") or {}
    if not isinstance(readings, dict):
        raise ScenarioError("metrics is not an object")
    return Observation(
        spec_replicas,
        status,
        _integer(step, "readyPods", status),
        tuple(_reading(metric, readings.get(metric.name)) for metric in spec.metrics),
        _integer(step, "pendingPods", 0),
        bool(step.get("scaleGetError")),
        bool(step.get("scaleUpdateError")),
    )


def _reading(metric: Metric, data: object) -> Reading:
    if data is None or isinstance(data, dict):
        return None
    if not isinstance(data, list):
        raise ScenarioError(f"the reading of {metric.name} is not a list")
    if metric.kind is MetricKind.PODS:
        return tuple(None if item is None else _milli(item) for item in data)
    if metric.kind is MetricKind.OBJECT:
        return tuple(_milli(item) for item in data if item is not None)
    return tuple(
        0 if item is None else _milli(item)
        for item in data
        if not isinstance(item, dict) or metric.selects(_labels(item))
    )


def _labels(item: Json) -> Mapping[str, str]:
    labels = item.get("labels") or {}
    if not isinstance(labels, dict) or not all(isinstance(value, str) for value in labels.values()):
        raise ScenarioError("labels is not an object of text")
    return labels


def _milli(item: object) -> int:
    if isinstance(item, dict):
        item = item.get("value")
    if isinstance(item, int) and not isinstance(item, bool):
        return item if abs(item) < _EXACT_MILLI else _big_milli(item)
    if not isinstance(item, str):
        raise ScenarioError(f"{item!r} is neither milli-units nor a quantity")
    try:
        return milli_value(stored_quantity(item))
    except QuantityError as error:
        raise ScenarioError(str(error)) from error


def _big_milli(item: int) -> int:
    if not MIN64 <= item <= MAX64:
        raise ScenarioError(f"{item} does not fit an int64")
    return milli_value(parse(canonical(Quantity(item, -3, True, "si"))))


def step_result(step: Step) -> dict[str, object]:
    """A decision in the form of `result.steps[i]`."""
    status = step.decision.state.status
    result: dict[str, object] = {
        "t": step.now_ns // 1_000_000,
        "currentReplicas": status.current_replicas,
        "desiredReplicas": status.desired_replicas,
        "specReplicas": step.decision.replicas,
        "rescaled": step.decision.is_rescaled,
        "conditions": {
            name: list(condition)
            for name, condition in (
                ("AbleToScale", status.able_to_scale),
                ("ScaledToZero", status.scaled_to_zero),
                ("ScalingActive", status.scaling_active),
                ("ScalingLimited", status.scaling_limited),
            )
            if condition is not None
        },
        "currentMetrics": None
        if status.current_metrics is None
        else [None if metric is None else _metric_status(metric) for metric in status.current_metrics],
    }
    # Vectors read the name from the condition's message, where a blank or a parenthesis ends it.
    name = _NAME_IN_MESSAGE.match(status.metric or "")
    if name is not None:
        result["metric"] = name.group()
    return result


def _metric_status(metric: MetricStatus) -> dict[str, object]:
    field = "averageValueMilli" if metric.target_type == TargetType.AVERAGE_VALUE else "valueMilli"
    return {"name": metric.name, field: metric.milli}
