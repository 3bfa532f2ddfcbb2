"""A validated autoscaling/v2 spec as the model's `Spec`; defaults are filled in here, and only here.

Metric sources that the model does not have are refused by name. Source for the defaults:
k8s.io/kubernetes/pkg/apis/autoscaling/v2/defaults.go.
"""

from collections.abc import Mapping
from typing import Any

from sim.hpa.manifest_fields import integer_of, quantity_text
from sim.hpa.metadata_rules import is_label_key, is_label_value
from sim.hpa.quantities import approximate_float, milli_value, stored_quantity
from sim.hpa.spec import (
    DEFAULT_DOWN,
    DEFAULT_UP,
    Behavior,
    Metric,
    MetricKind,
    Policy,
    PolicyType,
    Requirement,
    ScalingRules,
    SelectPolicy,
    Spec,
    TargetType,
)
from sim.hpa.versions import NotModelledError

Fields = Mapping[str, Any]


def spec_of(fields: Fields) -> Spec:
    """The spec; NotModelledError if it has a metric that is not External, Object or Pods, or none at all (cpu then)."""
    metrics = fields.get("metrics") or []
    if not metrics:
        raise NotModelledError(
            "an HPA without metrics scales on cpu utilization, and Resource metrics are not modelled"
        )
    behavior = fields.get("behavior")
    minimum = integer_of(fields.get("minReplicas"))
    return Spec(
        1 if minimum is None else minimum,
        integer_of(fields["maxReplicas"]) or 0,
        tuple(_metric(metric) for metric in metrics),
        None if behavior is None else _behavior(behavior),
    )


def _metric(fields: Fields) -> Metric:
    if fields["type"] not in tuple(MetricKind):
        raise NotModelledError(f"{fields['type']} metrics are not modelled; External, Object and Pods are")
    kind = MetricKind(fields["type"])
    source = fields[kind.value.lower()]
    target, identifier = source["target"], source["metric"]
    selector = _selector(identifier.get("selector"))
    target_type = None if selector is None else _target_type(kind, target)
    field = "averageValue" if target_type is TargetType.AVERAGE_VALUE else "value"
    milli = 0 if target_type is None else milli_value(stored_quantity(quantity_text(target[field])))
    return Metric(kind, identifier["name"], target_type, milli, selector or ())


def _target_type(kind: MetricKind, target: Fields) -> TargetType | None:
    """What the controller really compares: the field that is set for External, type and field together for Object."""
    has_value, has_average = target.get("value") is not None, target.get("averageValue") is not None
    if kind is MetricKind.PODS:
        return TargetType.AVERAGE_VALUE
    if kind is MetricKind.EXTERNAL:
        return TargetType.AVERAGE_VALUE if has_average else TargetType.VALUE
    if target["type"] == "Value" and has_value:
        return TargetType.VALUE
    return TargetType.AVERAGE_VALUE if target["type"] == "AverageValue" and has_average else None


def _selector(fields: Fields | None) -> tuple[Requirement, ...] | None:
    """The requirements of a label selector; None for one that is invalid: it passes validation, then always fails."""
    fields = fields or {}
    wanted = [
        Requirement(key, "In", (value or "",)) for key, value in sorted((fields.get("matchLabels") or {}).items())
    ]
    for expression in fields.get("matchExpressions") or []:
        values = tuple(value or "" for value in (expression or {}).get("values") or [])
        wanted.append(Requirement(expression.get("key") or "", expression.get("operator") or "", values))
    for requirement in wanted:
        takes_values = requirement.operator in ("In", "NotIn")
        if not takes_values and requirement.operator not in ("Exists", "DoesNotExist"):
            return None
        if takes_values != bool(requirement.values) or not is_label_key(requirement.key):
            return None
        if not all(is_label_value(value) for value in requirement.values):
            return None
    return tuple(wanted)


def _behavior(fields: Fields) -> Behavior:
    return Behavior(_rules(fields.get("scaleUp"), DEFAULT_UP), _rules(fields.get("scaleDown"), DEFAULT_DOWN))


def _rules(fields: Fields | None, default: ScalingRules) -> ScalingRules:
    """One direction, field by field; `policies` is replaced as a whole."""
    fields = fields or {}
    window, select = integer_of(fields.get("stabilizationWindowSeconds")), fields.get("selectPolicy")
    policies, tolerance = fields.get("policies"), fields.get("tolerance")
    return ScalingRules(
        default.window_seconds if window is None else window,
        default.select if select is None else SelectPolicy(select),
        default.policies if policies is None else tuple(_policy(policy) for policy in policies),
        None if tolerance is None else approximate_float(stored_quantity(quantity_text(tolerance))),
    )


def _policy(fields: Fields) -> Policy:
    value, period = integer_of(fields["value"]), integer_of(fields["periodSeconds"])
    return Policy(PolicyType(fields["type"]), value or 0, period or 0)
