"""Scores, each worked out by hand on a run of a few syncs."""

from collections import Counter
from collections.abc import Sequence

import pytest

from adapter.core.signals import Signal, Why
from sim.hpa.account import Account
from sim.hpa.state import Status
from sim.replay.steps import MetricStep, SyncStep
from sim.scores import Scorer, Scores, percentile

PERIOD = 15.0


def sync(t: float, desired: int, demand: float | None, ready: int | None = None, before: int | None = None) -> SyncStep:
    """A sync after which there are `desired`; `demand` is the policy's U, None for a metric that failed."""
    replicas = desired if before is None else before
    outcome = None
    if demand is not None:
        why = Why(t, t, (), (), demand, demand, None, None, "", ())
        outcome = Signal(round(demand * 1000), t, why)
    text = None if outcome is None else outcome.text
    metric = MetricStep("m", text, None if text else "empty", outcome=outcome)
    seen = replicas if ready is None else ready
    return SyncStep(t, (metric,), replicas, desired, seen, Account(), Status(), max(0, desired - replicas))


def scored(steps: Sequence[SyncStep], ceiling: int = 100, gpus: float = 2.0) -> Scores:
    scorer = Scorer(PERIOD, ceiling, gpus)
    for step in steps:
        scorer.add(step)
    return scorer.scores()


def story(*rows: tuple[int, float | None, int]) -> list[SyncStep]:
    """Syncs of (replicas after it, demand, ready); each starts from the replicas of the one before."""
    steps, before = [], rows[0][0]
    for index, (desired, demand, ready) in enumerate(rows):
        steps.append(sync(index * PERIOD, desired, demand, ready, before))
        before = desired
    return steps


def test_hours_count_what_there_is_until_the_next_sync() -> None:
    found = scored(story((2, 2, 2), (4, 4, 2), (4, 4, 4), (2, 2, 4)))
    assert found.replica_hours == pytest.approx((2 + 4 + 4 + 2) * 15 / 3600)
    assert found.gpu_hours == pytest.approx(2 * found.replica_hours)
    assert (found.syncs, found.seconds, found.most_replicas, found.highest_demand) == (4, 60, 4, 4)


def test_pod_starts_and_rescales() -> None:
    found = scored(story((2, 2, 2), (5, 5, 2), (3, 3, 3), (4, 4, 3)))
    assert (found.pod_starts, found.rescales) == (3 + 1, 3)


def test_a_flap_is_a_reversal_within_ten_minutes() -> None:
    def rescale(t: float, before: int, after: int) -> SyncStep:
        return sync(t, after, after, before=before)

    # Up at 0 s; down at 600 s is a reversal within the window; up at 1201 s is one 601 s later, and no flap.
    assert scored([rescale(0, 1, 3), rescale(600, 3, 2), rescale(1201, 2, 4)]).flaps == 1
    assert scored([rescale(0, 1, 3), rescale(15, 3, 5)]).flaps == 0


def test_under_and_over_provisioning_are_relative_to_the_demand() -> None:
    # Under: 4 wanted, 3 ready: 1/4. Over: 2 wanted, 3 ready: 1/2. Right once, and once nothing is known.
    found = scored(story((3, 4, 3), (3, 2, 3), (3, 3, 3), (3, None, 3))).provisioning
    assert found.theta_under == pytest.approx(100 * 0.25 / 3)
    assert found.theta_over == pytest.approx(100 * 0.5 / 3)
    assert found.tau_under == pytest.approx(100 / 3)
    assert found.tau_over == pytest.approx(100 / 3)


def test_a_demand_of_none_divides_by_one() -> None:
    assert scored(story((2, 0, 2))).provisioning.theta_over == pytest.approx(200)


def test_a_demand_counts_in_whole_replicas_of_what_is_published() -> None:
    # 3.0004 is published as 3 and 3.001 as 3001m, which is four.
    assert scored(story((3, 3.0004, 3))).highest_demand == 3
    assert scored(story((3, 3.001, 3))).highest_demand == 4


def test_the_longest_spell_under_demand_goes_on_where_nothing_is_known() -> None:
    found = scored(story((1, 1, 1), (1, 2, 1), (1, None, 1), (2, 2, 1), (2, 2, 2), (2, 3, 2)))
    assert found.longest_under_demand_seconds == 3 * PERIOD
    assert found.syncs_without_metric == 1


def test_a_step_is_reached_when_so_many_are_ready() -> None:
    # 4 are wanted at 15 s and ready at 60 s: 45 s. 6 are wanted at 75 s and ready at 90 s: 15 s.
    found = scored(story((1, 1, 1), (4, 4, 1), (4, 4, 1), (4, 4, 3), (4, 4, 4), (6, 6, 4), (6, 6, 6)))
    assert (found.steps_reached, found.steps_gone) == (2, 0)
    assert (found.seconds_to_reach_p50, found.seconds_to_reach_p95) == (15, 45)


def test_a_step_that_is_over_before_it_is_reached_is_counted_apart() -> None:
    found = scored(story((1, 1, 1), (5, 5, 1), (5, 2, 1), (5, 2, 5)))
    assert (found.steps_reached, found.steps_gone) == (0, 1)
    assert found.seconds_to_reach_p50 is None


def test_time_at_the_ceiling() -> None:
    assert scored(story((3, 3, 3), (5, 9, 3), (5, 9, 5), (4, 4, 5)), ceiling=5).seconds_at_ceiling == 2 * PERIOD


def test_the_static_baselines_are_the_peak_and_the_mean() -> None:
    # Demands 1, 1, 2, 6: the peak is 6, the mean 2.5, so 3 fixed replicas.
    found = scored(story((1, 1, 1), (1, 1, 1), (2, 2, 2), (6, 6, 6)))
    peak, mean = found.fixed_at_peak, found.fixed_at_mean
    assert peak is not None
    assert mean is not None
    assert (peak.replicas, mean.replicas) == (6, 3)
    assert peak.replica_hours == pytest.approx(6 * 60 / 3600)
    # At the peak: over by 5, 5, 4, 0 of 1, 1, 2, 6, so (5 + 5 + 2 + 0) ÷ 4.
    assert peak.provisioning.theta_over == pytest.approx(300)
    assert peak.provisioning.tau_under == 0
    # At the mean: under once by 3 of 6; over by 2, 2, 1 of 1, 1, 2.
    assert mean.provisioning.theta_under == pytest.approx(12.5)
    assert mean.provisioning.theta_over == pytest.approx(100 * 4.5 / 4)
    assert (mean.provisioning.tau_under, mean.provisioning.tau_over) == (25, 75)


def test_where_no_demand_is_known_there_is_no_accuracy() -> None:
    found = scored(story((1, None, 1)))
    assert found.provisioning.theta_under is None
    assert (found.fixed_at_peak, found.highest_demand) == (None, None)


def test_percentiles_are_by_nearest_rank() -> None:
    counts = Counter({15.0: 10, 30.0: 9, 600.0: 1})
    assert (percentile(counts, 0.5), percentile(counts, 0.95), percentile(counts, 1.0)) == (15, 30, 600)
    assert percentile(Counter(), 0.5) is None
