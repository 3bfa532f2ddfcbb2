"""One metric to a count of replicas: External and Object metrics.

Step order and names follow replica_calculator.go (GetExternalPerPodMetricReplicas, GetExternalMetricReplicas,
GetObjectPerPodMetricReplicas, GetObjectMetricReplicas). Every function answers (count, milli-value for the status),
or None if the metric fails. Knows one metric only; windows, policies and bounds come later.
"""

from sim.hpa.account import MetricAccount
from sim.hpa.arithmetic import MAX32, MAX64, ceil32, ceil64, divide, wrap64
from sim.hpa.observation import Observation, Reading
from sim.hpa.spec import Autoscaler, Metric, TargetType

Replicas = tuple[int, int] | None


def external_replicas(
    hpa: Autoscaler, metric: Metric, reading: Reading, seen: Observation, account: MetricAccount | None
) -> Replicas:
    """What an External metric asks for."""
    if not reading or metric.target_type is None:
        return None
    if metric.target_type is TargetType.AVERAGE_VALUE:
        return _external_per_pod(hpa, metric.target_milli, reading, seen.status_replicas, account)
    return _value(hpa, metric.target_milli, _capped_sum(reading), seen, account)


def object_replicas(
    hpa: Autoscaler, metric: Metric, reading: Reading, seen: Observation, account: MetricAccount | None
) -> Replicas:
    """What an Object metric asks for; its answer has exactly one value."""
    if metric.target_type is None or reading is None or len(reading) != 1 or reading[0] is None:
        return None
    if metric.target_type is TargetType.VALUE:
        return _value(hpa, metric.target_milli, reading[0], seen, account)
    return _object_per_pod(hpa, metric.target_milli, reading[0], seen.status_replicas, account)


def _external_per_pod(
    hpa: Autoscaler, target: int, values: tuple[int | None, ...], status_replicas: int, account: MetricAccount | None
) -> Replicas:
    usage = 0
    for value in values:
        usage += value  # type: ignore[operator]  # only Pods metrics have None among their values
        # A negative sum is taken for an int64 overflow, so the order of the items matters: 5 − 3 is 2, −3 + 5 is MAX64.
        if usage < 0 or usage > MAX64:
            usage = MAX64
            break
    load = float(usage)
    size = float(target) * status_replicas
    ratio = load / size if size else divide(load, size)
    count = status_replicas
    is_inside = hpa.lowest_ratio <= ratio <= hpa.highest_ratio
    if not is_inside:
        wanted = load / target if target else divide(load, 0.0)
        count = MAX32 if wanted > MAX32 else ceil32(wanted)
    if account is not None:
        account.usage_milli, account.ratio, account.is_inside = usage, ratio, is_inside
    if load >= 9223372036854775807.0:
        return count, MAX64
    return count, ceil64(load / status_replicas if status_replicas else divide(load, 0.0))


def _object_per_pod(
    hpa: Autoscaler, target: int, usage: int, status_replicas: int, account: MetricAccount | None
) -> Replicas:
    """As External, but without its two rules against overflow."""
    ratio = divide(float(usage), float(target) * float(status_replicas))
    count = status_replicas
    is_inside = hpa.lowest_ratio <= ratio <= hpa.highest_ratio
    if not is_inside:
        count = ceil32(divide(float(usage), float(target)))
    if account is not None:
        account.usage_milli, account.ratio, account.is_inside = usage, ratio, is_inside
    return count, ceil64(divide(float(usage), float(status_replicas)))


def _capped_sum(values: tuple[int | None, ...]) -> int:
    usage = 0
    for value in values:
        usage += value  # type: ignore[operator]  # only Pods metrics have None among their values
        if usage > MAX64:
            return MAX64
        usage = wrap64(usage) if usage < -MAX64 else usage
    return usage


def _value(hpa: Autoscaler, target: int, usage: int, seen: Observation, account: MetricAccount | None) -> Replicas:
    ratio = float(usage) / target if target else divide(float(usage), 0.0)
    is_inside = False
    if seen.spec_replicas == 0:
        # From zero there is no pod to multiply by, and no cap either: 3e9 wraps to the most negative count.
        count = ceil32(ratio)
    else:
        is_inside = hpa.lowest_ratio <= ratio <= hpa.highest_ratio
        if is_inside:
            count = seen.spec_replicas
        elif seen.pods == 0:
            return None
        else:
            wanted = ratio * seen.ready_pods
            count = MAX32 if wanted > MAX32 else ceil32(wanted)
    if account is not None:
        account.usage_milli, account.ratio, account.is_inside = usage, ratio, is_inside
    return count, usage
