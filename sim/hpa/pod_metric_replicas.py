"""One Pods metric to a count of replicas: the mean of the pods' own values against the target.

Step order and names follow calcPlainMetricReplicas and groupPods of replica_calculator.go. Pods that do not report
are filled in against the direction of the change, so that missing data damps it.
"""

from sim.hpa.account import MetricAccount
from sim.hpa.arithmetic import ceil32, divide, wrap64
from sim.hpa.observation import Observation, Reading
from sim.hpa.spec import Autoscaler, Metric


def pods_replicas(
    hpa: Autoscaler, metric: Metric, reading: Reading, seen: Observation, account: MetricAccount | None
) -> tuple[int, int] | None:
    """(count, mean milli-value), or None if the metric fails."""
    pods = seen.pods
    if reading is None or pods == 0 or metric.target_type is None:
        return None
    pending = min(seen.pending_pods, pods - seen.ready_pods)
    unpending = pods - pending
    of_pods = reading[:unpending]
    # Values of Pending pods are dropped; values that belong to no pod at all stay in.
    values = [value for value in of_pods + reading[pods:] if value is not None]
    if not values:
        return None
    with_value = sum(value is not None for value in of_pods)
    missing = unpending - with_value
    usage, ratio = _usage_ratio(values, metric.target_milli)
    if account is not None:
        account.usage_milli, account.ratio = usage, ratio
    return _replicas(hpa, metric.target_milli, values, (ratio, with_value, missing, pending), seen, account), usage


def _replicas(
    hpa: Autoscaler,
    target: int,
    values: list[int],
    grouped: tuple[float, int, int, int],
    seen: Observation,
    account: MetricAccount | None,
) -> int:
    ratio, with_value, missing, pending = grouped
    current = seen.spec_replicas
    rises_with_pending = pending > 0 and ratio > 1.0
    if not rises_with_pending and missing == 0:
        if hpa.lowest_ratio <= ratio <= hpa.highest_ratio:
            _note_inside(account)
            return current
        return ceil32(ratio * with_value)
    filled = list(values)
    if ratio < 1.0:
        filled += [target] * missing
    elif ratio > 1.0:
        filled += [0] * missing
    if rises_with_pending:
        filled += [0] * pending
    _, new_ratio = _usage_ratio(filled, target)
    turns = (ratio < 1.0 and new_ratio > 1.0) or (ratio > 1.0 and new_ratio < 1.0)
    if hpa.lowest_ratio <= new_ratio <= hpa.highest_ratio or turns:
        _note_inside(account)
        return current
    count = ceil32(new_ratio * len(filled))
    if (new_ratio < 1.0 and count > current) or (new_ratio > 1.0 and count < current):
        return current
    return count


def _usage_ratio(values: list[int], target: int) -> tuple[int, float]:
    total = wrap64(sum(values))
    usage = abs(total) // len(values) * (-1 if total < 0 else 1)
    return usage, divide(float(usage), float(target))


def _note_inside(account: MetricAccount | None) -> None:
    if account is not None:
        account.is_inside = True
