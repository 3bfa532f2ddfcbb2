"""All metrics to one proposal: the highest count, and what failed metrics do to it.

Follows computeReplicasForMetrics of horizontal.go.
"""

from sim.hpa.account import Account, MetricAccount
from sim.hpa.conditions import FAILED_GET_METRIC, Condition
from sim.hpa.metric_replicas import external_replicas, object_replicas
from sim.hpa.observation import Observation
from sim.hpa.pod_metric_replicas import pods_replicas
from sim.hpa.spec import Autoscaler, MetricKind
from sim.hpa.state import MetricStatus

Proposal = tuple[int, str | None, tuple[MetricStatus | None, ...], Condition | None]
"""(replicas, the metric that asks for them, every metric's status, the condition that ends it all or None)."""


def propose(hpa: Autoscaler, seen: Observation, account: Account | None) -> Proposal:
    """The proposal of all metrics, in the order of the spec."""
    replicas = 0
    name: str | None = None
    statuses: list[MetricStatus | None] = []
    failure: Condition | None = None
    failures = 0
    metric_account: MetricAccount | None = None
    for metric, reading in zip(hpa.metrics, seen.readings, strict=True):
        if account is not None:
            metric_account = MetricAccount(metric.name)
            account.metrics.append(metric_account)
        if metric.kind is MetricKind.EXTERNAL:
            answer = external_replicas(hpa, metric, reading, seen, metric_account)
        elif metric.kind is MetricKind.OBJECT:
            answer = object_replicas(hpa, metric, reading, seen, metric_account)
        else:
            answer = pods_replicas(hpa, metric, reading, seen, metric_account)
        if answer is None:
            failure = failure or FAILED_GET_METRIC[metric.kind]
            failures += 1
            statuses.append(None)
            continue
        count, milli = answer
        statuses.append(MetricStatus(metric.name, metric.target_type, milli))  # type: ignore[arg-type]
        if metric_account is not None:
            metric_account.count = count
        # The first of equals wins, except that anything replaces a 0.
        if replicas == 0 or count > replicas:
            replicas, name = count, metric.name
    if account is not None and name is not None:
        account.proposal, account.proposed_by = replicas, name
    # With one metric unknown the count may rise or stay, never fall.
    if failure is not None and (failures == len(hpa.metrics) or replicas < seen.spec_replicas):
        return replicas, None, tuple(statuses), failure
    return replicas, name, tuple(statuses), None
