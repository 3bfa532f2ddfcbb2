"""The HPA that `scaleproof new` would write for a policy, for replays that are given none.

Target one unit per replica, tolerance 0 in both directions, up at once, down after 300 s.
"""

from dataclasses import replace
from math import ceil

from adapter.core.policy_reading import LoadedPolicy
from sim.hpa.spec import DEFAULT_DOWN, DEFAULT_UP, Behavior, Metric, MetricKind, Spec, TargetType
from sim.replay.parameters import ReplayError

DEFAULT_MAXIMUM = 10
"""maxReplicas where the policy has no ceiling."""

DOWN_WINDOW_SECONDS = 300


def default_hpa(loaded: LoadedPolicy) -> tuple[Spec, str]:
    """The spec and its words."""
    publish = loaded.policy.spec.publish
    ceiling = loaded.rules.ceiling
    minimum = max(1, ceil(publish.floor or 0)) if publish.as_ == "replicas" else 1
    maximum = max(minimum, DEFAULT_MAXIMUM if ceiling is None or publish.as_ != "replicas" else int(ceiling))
    kind, milli, words = _target(loaded)
    behavior = Behavior(
        replace(DEFAULT_UP, window_seconds=0, policies=DEFAULT_UP.policies[::-1], tolerance=0.0),
        replace(DEFAULT_DOWN, window_seconds=DOWN_WINDOW_SECONDS, tolerance=0.0),
    )
    metric = Metric(MetricKind.EXTERNAL, publish.metric, kind, milli)
    because = "the policy's ceiling" if ceiling is not None and publish.as_ == "replicas" else "no ceiling is given"
    text = (
        f"no --hpa: the one that `scaleproof new` writes, {publish.metric} with {words}, minReplicas {minimum}, "
        f"maxReplicas {maximum} ({because}), tolerance 0, scale-down window {DOWN_WINDOW_SECONDS} s"
    )
    return Spec(minimum, maximum, (metric,), behavior), text


def _target(loaded: LoadedPolicy) -> tuple[TargetType, int, str]:
    match loaded.policy.spec.publish.as_:
        case "replicas":
            return TargetType.AVERAGE_VALUE, 1000, 'averageValue "1"'
        case "ratio":
            return TargetType.VALUE, 1000, 'value "1"'
        case "total":
            parts = [component for term in loaded.rules.terms for component in term.components]
            if not parts:
                raise ReplayError("a total has no target of its own here; give the HPA with --hpa")
            each = max(1, round(parts[0].divisor_up * 1000))
            return TargetType.AVERAGE_VALUE, each, f"averageValue {each / 1000:g}"
