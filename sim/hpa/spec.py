"""The spec of one HorizontalPodAutoscaler: as it is written, and as the controller works with it.

`Spec` is autoscaling/v2 after defaulting, in the units of the algorithm. `Autoscaler` is a spec under one set of
controller flags with all that does not change between reconciles worked out beforehand, so that a decision only adds
and compares. Valid at construction: whoever makes a spec has validated it (see manifest_rules.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from sim.hpa.flags import NANOSECONDS_PER_SECOND, ControllerFlags


class MetricKind(StrEnum):
    """The metric sources that are modelled."""

    EXTERNAL = "External"
    OBJECT = "Object"
    PODS = "Pods"


class TargetType(StrEnum):
    """What a target is compared with: the value itself, or the value per replica."""

    VALUE = "Value"
    AVERAGE_VALUE = "AverageValue"


class SelectPolicy(StrEnum):
    """Which of several policies limits a change; Disabled allows none."""

    MAX = "Max"
    MIN = "Min"
    DISABLED = "Disabled"


class PolicyType(StrEnum):
    """What a policy's value counts."""

    PODS = "Pods"
    PERCENT = "Percent"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition of a label selector: In, NotIn, Exists or DoesNotExist."""

    key: str
    operator: str
    values: tuple[str, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether labels meet it; a label that is absent meets NotIn."""
        value = labels.get(self.key)
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is not None) == (self.operator == "Exists")
        return (value in self.values) == (self.operator == "In")


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the spec; `target_milli` is what `MilliValue` makes of the target."""

    kind: MetricKind
    name: str
    target_type: TargetType | None
    """None if the controller can make nothing of it, though the API server accepts it: the metric always fails.

    So it is with an Object metric whose target type and field do not fit each other, and with an invalid selector.
    """
    target_milli: int
    selector: tuple[Requirement, ...] = ()

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether the selector matches an item with these labels."""
        return all(requirement.matches(labels) for requirement in self.selector)


@dataclass(frozen=True, slots=True)
class Policy:
    """At most `value` pods or percent within `period_seconds`."""

    type: PolicyType
    value: int
    period_seconds: int


@dataclass(frozen=True, slots=True)
class ScalingRules:
    """One direction of `behavior` after defaulting; None where the controller's flag decides."""

    window_seconds: int | None
    select: SelectPolicy
    policies: tuple[Policy, ...]
    tolerance: float | None


DEFAULT_UP_POLICIES = (Policy(PolicyType.PODS, 4, 15), Policy(PolicyType.PERCENT, 100, 15))
DEFAULT_DOWN_POLICIES = (Policy(PolicyType.PERCENT, 100, 15),)
DEFAULT_UP = ScalingRules(0, SelectPolicy.MAX, DEFAULT_UP_POLICIES, None)
DEFAULT_DOWN = ScalingRules(None, SelectPolicy.MAX, DEFAULT_DOWN_POLICIES, None)


@dataclass(frozen=True, slots=True)
class Behavior:
    """Rules for both directions."""

    up: ScalingRules
    down: ScalingRules


@dataclass(frozen=True, slots=True)
class Spec:
    """One HorizontalPodAutoscaler."""

    minimum: int
    maximum: int
    metrics: tuple[Metric, ...]
    behavior: Behavior | None


@dataclass(frozen=True, slots=True)
class Limit:
    """A policy with its percentage as the factor the controller multiplies by, and its period in nanoseconds."""

    is_percent: bool
    value: int
    factor: float
    period_ns: int
    policy: Policy


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction's rules, worked out."""

    window_ns: int
    select: SelectPolicy
    limits: tuple[Limit, ...]
    longest_period_ns: int


@dataclass(frozen=True, slots=True)
class Autoscaler:
    """A spec under one controller's flags."""

    minimum: int
    maximum: int
    metrics: tuple[Metric, ...]
    lowest_ratio: float
    highest_ratio: float
    up: Direction | None
    down: Direction | None
    plain_window_ns: int
    scale_to_zero: bool
    remembers_own_zero: bool
    has_object_or_external: bool


def resolve(spec: Spec, flags: ControllerFlags) -> Autoscaler:
    """What the controller makes of a spec: windows and tolerances from `behavior`, else from its flags."""
    behavior = spec.behavior
    up_tolerance = down_tolerance = flags.tolerance
    up = down = None
    if behavior is not None:
        if behavior.up.tolerance is not None and flags.configurable_tolerance:
            up_tolerance = behavior.up.tolerance
        if behavior.down.tolerance is not None and flags.configurable_tolerance:
            down_tolerance = behavior.down.tolerance
        # The flag's window is cut to whole seconds here, and only here.
        flag_seconds = flags.downscale_stabilization_ns // NANOSECONDS_PER_SECOND
        up = _direction(behavior.up, flag_seconds, 1.0)
        down = _direction(behavior.down, flag_seconds, -1.0)
    return Autoscaler(
        spec.minimum,
        spec.maximum,
        spec.metrics,
        1.0 - down_tolerance,
        1.0 + up_tolerance,
        up,
        down,
        flags.downscale_stabilization_ns,
        flags.scale_to_zero,
        flags.version.remembers_own_zero,
        any(metric.kind is not MetricKind.PODS for metric in spec.metrics),
    )


def _direction(rules: ScalingRules, flag_seconds: int, sign: float) -> Direction:
    seconds = flag_seconds if rules.window_seconds is None else rules.window_seconds
    limits = tuple(
        Limit(
            policy.type is PolicyType.PERCENT,
            policy.value,
            1.0 + sign * (policy.value / 100.0),
            policy.period_seconds * NANOSECONDS_PER_SECOND,
            policy,
        )
        for policy in rules.policies
    )
    longest = max(limit.period_ns for limit in limits)
    return Direction(seconds * NANOSECONDS_PER_SECOND, rules.select, limits, longest)
