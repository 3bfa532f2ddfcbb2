"""Decisions told as stories: what lasts between reconciles, and how a decision accounts for itself."""

import hpa_runs
import pytest

from sim.hpa.account import Account
from sim.hpa.flags import NANOSECONDS_PER_SECOND, ControllerFlags, read_gates
from sim.hpa.observation import Observation
from sim.hpa.reconcile import reconcile
from sim.hpa.spec import (
    DEFAULT_DOWN,
    DEFAULT_UP,
    Behavior,
    Metric,
    MetricKind,
    Policy,
    PolicyType,
    ScalingRules,
    SelectPolicy,
    Spec,
    TargetType,
    resolve,
)
from sim.hpa.state import State, restarted
from sim.hpa.versions import NotModelledError, find_version

QUEUE = Metric(MetricKind.EXTERNAL, "queue", TargetType.AVERAGE_VALUE, 10_000)
RATE = Metric(MetricKind.EXTERNAL, "rate", TargetType.VALUE, 10_000)
PLAIN = Spec(1, 100, (QUEUE,), None)
BEHAVIOR = Spec(1, 100, (QUEUE,), Behavior(DEFAULT_UP, DEFAULT_DOWN))
NO_WINDOW = ControllerFlags(downscale_stabilization_ns=0)
GATE = ControllerFlags(downscale_stabilization_ns=0, scale_to_zero=True)


def load(*values: int | None) -> tuple:
    return tuple(None if value is None else (value * 1000,) for value in values)


def at(seconds: int) -> int:
    return seconds * NANOSECONDS_PER_SECOND


def test_a_restart_forgets_recommendations_and_keeps_the_status():
    # 10 replicas' worth until 60 s, then 1: the window holds 10 until 360 s, unless the controller forgets.
    loads = [(seconds, load(100 if seconds <= 60 else 10)) for seconds in range(15, 121, 15)]
    before = hpa_runs.run(PLAIN, loads, 10)[-1][1]
    assert before.replicas == 10
    after = restarted(before.state)
    assert after.status == before.state.status
    assert after == State(status=before.state.status)
    # The count found is the first recommendation again, so the window starts anew.
    loads = [(seconds, load(10)) for seconds in range(135, 466, 15)]
    decided = hpa_runs.run(PLAIN, loads, 10, state=after)
    assert [seconds for seconds, decision in decided if decision.replicas == 10][-1] == 435


def test_a_restart_forgets_scale_events_so_a_policy_allows_again():
    one_a_minute = ScalingRules(0, SelectPolicy.MAX, (Policy(PolicyType.PODS, 1, 60),), None)
    spec = Spec(1, 100, (QUEUE,), Behavior(one_a_minute, DEFAULT_DOWN))
    first = hpa_runs.run(spec, [(15, load(1000)), (30, load(1000))], 5)[-1][1]
    assert first.replicas == 6
    assert hpa_runs.run(spec, [(45, load(1000))], 6, state=first.state)[0][1].replicas == 6
    assert hpa_runs.run(spec, [(45, load(1000))], 6, state=restarted(first.state))[0][1].replicas == 7


def test_the_decision_is_the_same_with_and_without_an_account():
    autoscaler = resolve(BEHAVIOR, ControllerFlags())
    seen = Observation(4, 4, 3, load(1000))
    assert reconcile(autoscaler, State(), seen, at(15)) == reconcile(autoscaler, State(), seen, at(15), Account())


def test_an_account_tells_each_step_with_behavior():
    account = Account()
    spec = Spec(1, 100, (QUEUE, RATE), Behavior(DEFAULT_UP, DEFAULT_DOWN))
    seen = Observation(4, 4, 3, load(1000, 11))
    reconcile(resolve(spec, ControllerFlags()), State(), seen, at(15), account)
    assert account.lines() == [
        "current 4: metrics",
        "metric queue: usage 1000000m, ratio 25.0 -> 100",
        "metric rate: usage 11000m, ratio 1.1, inside the tolerance -> 4",
        "proposal 100 from queue",
        "want 100, stabilized 100 (recommendations 100..100)",
        "bound 8 by Pods 4/15s, limited: ScaleUpLimit",
        "final 8: SucceededRescale",
    ]


def test_an_account_tells_of_bounds_without_a_policy_and_of_no_limit():
    account = Account()
    reconcile(resolve(PLAIN, NO_WINDOW), State(), Observation(10, 10, 10, load(100)), at(15), account)
    assert account.lines()[-2:] == ["bound 20, limited: no", "final 10: ReadyForNewScale"]


@pytest.mark.parametrize(
    ("spec", "seen", "lines"),
    [
        (PLAIN, Observation(200, 200, 200, load(1)), ["current 200: above-maximum", "final 100: SucceededRescale"]),
        (
            Spec(5, 9, (QUEUE,), None),
            Observation(2, 2, 2, load(1)),
            ["current 2: below-minimum", "final 5: SucceededRescale"],
        ),
        (PLAIN, Observation(0, 0, 0, load(1)), ["current 0: disabled", "final 0: ScalingDisabled"]),
        (PLAIN, Observation(3, 3, 3, load(1), 0, True), ["current 3: scale-unreadable", "final 3: FailedGetScale"]),
        (
            PLAIN,
            Observation(3, 3, 3, load(None)),
            ["current 3: metrics", "metric queue: failed", "final 3: FailedGetExternalMetric"],
        ),
    ],
    ids=["above-maximum", "below-minimum", "disabled", "scale-unreadable", "failed"],
)
def test_an_account_tells_why_metrics_were_not_used(spec, seen, lines):
    account = Account()
    reconcile(resolve(spec, ControllerFlags()), State(), seen, at(15), account)
    assert account.lines() == lines


def test_a_failed_scale_update_is_told_and_stores_no_event():
    account = Account()
    seen = Observation(4, 4, 4, load(1000), scale_update_fails=True)
    decision = reconcile(resolve(BEHAVIOR, ControllerFlags()), State(), seen, at(15), account)
    assert account.lines()[-1] == "final 4: FailedUpdateScale"
    assert (decision.replicas, decision.is_rescaled, decision.state.up_events) == (4, False, ())


def test_a_disabled_direction_names_no_policy():
    disabled = ScalingRules(0, SelectPolicy.DISABLED, (Policy(PolicyType.PODS, 1, 60),), None)
    spec = Spec(1, 100, (QUEUE,), Behavior(disabled, disabled))
    for readings in (load(1000), load(0)):
        decision, account = hpa_runs.decide(spec, readings, 4, flags=NO_WINDOW)
        assert account.policy is None
        assert decision.replicas == 4


def test_a_zero_of_its_own_wakes_and_a_zero_by_hand_does_not():
    spec = Spec(0, 100, (QUEUE,), None)
    loads = [(15, load(20)), (30, load(0)), (45, load(0)), (60, load(70))]
    decided = hpa_runs.run(spec, loads, 2, GATE)
    assert [decision.replicas for _, decision in decided] == [2, 0, 0, 4]
    by_hand = hpa_runs.run(spec, [(75, load(70))], 0, GATE, decided[-1][1].state)[0][1]
    assert (by_hand.replicas, by_hand.state.status.scaling_active) == (0, ("False", "ScalingDisabled"))


def test_pods_metrics_alone_do_not_wake_from_zero():
    pods = Metric(MetricKind.PODS, "p", TargetType.AVERAGE_VALUE, 1000)
    zero = hpa_runs.run(Spec(0, 100, (QUEUE,), None), [(15, load(20)), (30, load(0))], 2, GATE)[-1][1]
    assert zero.state.status.scaled_to_zero == ("True", "ScaledToZero")
    still = hpa_runs.run(Spec(0, 100, (pods,), None), [(45, load(70))], 0, GATE, zero.state)[0][1]
    assert still.state.status.scaling_active == ("False", "ScalingDisabled")


def test_when_the_gate_is_switched_off_the_condition_goes():
    zero = hpa_runs.run(Spec(0, 100, (QUEUE,), None), [(15, load(20)), (30, load(0))], 2, GATE)[-1][1]
    for replicas in (0, 3):
        off = hpa_runs.run(PLAIN, [(45, load(70))], replicas, NO_WINDOW, zero.state)[0][1]
        assert off.state.status.scaled_to_zero is None


def test_version_1_35_has_no_memory_of_its_own_zero_and_pauses_only_above_minimum_zero():
    flags = ControllerFlags(downscale_stabilization_ns=0, version=find_version("1.35"), scale_to_zero=True)
    [(_, wakes)] = hpa_runs.run(Spec(0, 100, (QUEUE,), None), [(15, load(70))], 0, flags)
    assert (wakes.replicas, wakes.state.status.scaled_to_zero) == (4, None)
    [(_, pauses)] = hpa_runs.run(Spec(1, 100, (QUEUE,), None), [(15, load(70))], 0, flags)
    assert pauses.replicas == 0


def test_versions_differ_in_gates_and_in_the_first_reconcile():
    assert read_gates(find_version("1.36"), {}) == (False, True)
    assert read_gates(find_version("1.37"), {}) == (True, True)
    assert read_gates(find_version("1.36"), {"HPAConfigurableTolerance": False}) == (False, False)
    with pytest.raises(NotModelledError, match=r"HPAConfigurableTolerance cannot be off in Kubernetes 1\.37"):
        read_gates(find_version("1.37"), {"HPAConfigurableTolerance": False})
    assert ControllerFlags(reconcile_latency_ns=5).sync_instant_ns(1) == at(30) + 10
    assert ControllerFlags(version=find_version("1.37")).sync_instant_ns(1) == at(15)
    assert find_version("1.37").note == "Kubernetes 1.37, not verified against a controller"
    assert find_version("1.36").note == "Kubernetes 1.36"


def test_a_metric_that_the_controller_cannot_use_always_fails():
    for kind, reason in (
        ("External", "FailedGetExternalMetric"),
        ("Object", "FailedGetObjectMetric"),
        ("Pods", "FailedGetPodsMetric"),
    ):
        spec = Spec(1, 10, (Metric(MetricKind(kind), "x", None, 0),), None)
        [(_, decision)] = hpa_runs.run(spec, [(15, load(5))], 3)
        assert decision.state.status.scaling_active == ("False", reason)


def test_a_tolerance_is_ignored_while_its_gate_is_off():
    loose = ScalingRules(0, SelectPolicy.MAX, DEFAULT_UP.policies, 0.5)
    spec = Spec(1, 100, (QUEUE,), Behavior(loose, loose))
    assert hpa_runs.decide(spec, load(140), 10)[0].replicas == 10
    assert hpa_runs.decide(spec, load(140), 10, flags=ControllerFlags(configurable_tolerance=False))[0].replicas == 14


def test_an_object_metric_per_replica_counts_status_replicas_and_accounts_for_it():
    served = Metric(MetricKind.OBJECT, "served", TargetType.AVERAGE_VALUE, 10_000)
    decision, account = hpa_runs.decide(Spec(1, 100, (served,), None), load(120), 10)
    # 120 ÷ (10 × 10) is 1.2, outside the tolerance; 120 ÷ 10 is 12.
    assert account.lines()[1] == "metric served: usage 120000m, ratio 1.2 -> 12"
    assert decision.state.status.current_metrics == (("served", "AverageValue", 12_000),)


def test_a_value_metric_fails_outside_the_tolerance_while_no_pod_exists():
    spec = Spec(1, 100, (RATE,), None)
    outside = reconcile(resolve(spec, ControllerFlags()), State(), Observation(4, 0, 0, load(20)), at(15))
    assert outside.state.status.scaling_active == ("False", "FailedGetExternalMetric")
    inside = reconcile(resolve(spec, ControllerFlags()), State(), Observation(4, 0, 0, load(10)), at(15))
    assert inside.state.status.scaling_active == ("True", "ValidMetricFound")


def test_twice_a_count_beyond_int32_is_the_most_negative_limit():
    current = 2**30 + 1
    spec = Spec(1, 2**31 - 1, (QUEUE,), None)
    decision = reconcile(resolve(spec, NO_WINDOW), State(), Observation(current, current, 1, load(None)), at(15))
    assert decision.replicas == current
    seen = Observation(current, 10, 10, load(1000))
    assert reconcile(resolve(spec, NO_WINDOW), State(), seen, at(15)).replicas == -(2**31)


PODS = Spec(1, 100, (Metric(MetricKind.PODS, "busy", TargetType.AVERAGE_VALUE, 10_000),), None)

PODS_STORIES = {
    # the mean is 20, twice the target: 2 × 4 pods
    "all report": ((20_000,) * 4, 4, 0, "usage 20000m, ratio 2.0 -> 8"),
    "all on target": ((10_000,) * 4, 4, 0, "usage 10000m, ratio 1.0, inside the tolerance -> 4"),
    # exactly on target nothing is filled in for the pod that does not report
    "one missing on target": (
        (10_000, 10_000, 10_000, None),
        4,
        0,
        "usage 10000m, ratio 1.0, inside the tolerance -> 4",
    ),
    # (5 + 5 + 5 + 10) ÷ 4 is 0.625 of the target; ceil(0.625 × 4) is 3, more than the 2 of the spec: no change
    "down asks for more than there are": ((5000, 5000, 5000, None), 2, 0, "usage 5000m, ratio 0.5 -> 2"),
    # (20 + 20 + 0 + 0) ÷ 4 is exactly the target: the pending pods damp the rise away
    "two pending": ((20_000, 20_000), 4, 2, "usage 20000m, ratio 2.0, inside the tolerance -> 4"),
    # (40 + 40 + 0 + 0) ÷ 4 is twice the target: 2 × 4
    "two pending, high load": ((40_000, 40_000), 4, 2, "usage 40000m, ratio 4.0 -> 8"),
    # −7 ÷ 2 is cut to −3; ceil(−0.0003 × 2) is 0
    "negative": ((-3, -4), 2, 0, "usage -3m, ratio -0.0003 -> 0"),
}


@pytest.mark.parametrize("name", PODS_STORIES)
def test_a_pods_metric_takes_the_mean_and_fills_in_what_is_missing(name):
    reading, replicas, pending, line = PODS_STORIES[name]
    account = Account()
    pods = max(4, len(reading)) if replicas > 2 or None in reading else replicas
    seen = Observation(replicas, pods, pods - pending, (reading,), pending)
    reconcile(resolve(PODS, NO_WINDOW), State(), seen, at(15), account)
    assert account.lines()[1] == f"metric busy: {line}"


@pytest.mark.parametrize(("reading", "pods"), [((), 4), ((None, None), 2), (None, 4), ((5,), 0)])
def test_a_pods_metric_without_values_or_pods_fails(reading, pods):
    seen = Observation(4, pods, pods, (reading,))
    decision = reconcile(resolve(PODS, NO_WINDOW), State(), seen, at(15))
    assert decision.state.status.scaling_active == ("False", "FailedGetPodsMetric")
