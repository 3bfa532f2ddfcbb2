"""Missing is not zero, and never scales down: each reason, each rule, and what replicas change."""

import math

import pytest
from policy_world import T, many, one, outcome, outcomes, policy, replicas, served, tick

from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer, Sample, Series
from adapter.core.signals import NoSignal, Signal

QUEUE = """\
  every: 15s
  inputs: {{queue: {{query: queue, unit: count{more}}}}}
  terms: {{q: {{concurrency: queue, per_replica: 10}}}}
  publish: {{metric: m}}
"""
PLAIN = policy(QUEUE.format(more=""))


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (math.nan, "not-a-number"),
        (math.inf, "infinite"),
        (-math.inf, "infinite"),
        (-1.0, "negative"),
        (1e16, "too-large"),
        (140737488355328.0, "sentinel"),  # DCGM_FP64_BLANK
        (9223372036854775794.0, "sentinel"),  # DCGM_INT64_NOT_SUPPORTED as a double
        (2147483632.0, "sentinel"),  # DCGM_INT32_BLANK
    ],
)
def test_a_sample_that_is_no_measurement_is_no_signal(value: float, reason: str) -> None:
    assert served(PLAIN, tick(PLAIN, [one("queue", value)])) == f"<{reason}>"


def test_no_series_is_empty_and_an_old_sample_is_stale() -> None:
    assert served(PLAIN, tick(PLAIN, [])) == "<empty>"
    assert served(PLAIN, tick(PLAIN, [one("queue", 5, age=61)])) == "<stale>"
    assert served(PLAIN, tick(PLAIN, [one("queue", 5, age=60)])) == "500m"


def test_series_that_differ_outside_per_are_never_added_by_accident() -> None:
    twice = [one("queue", 5, pod="a", prometheus_replica="0"), one("queue", 6, pod="a", prometheus_replica="1")]
    assert served(PLAIN, tick(PLAIN, twice)) == "<duplicate-series>"
    same = [one("queue", 5, pod="a", prometheus_replica="0"), one("queue", 5, pod="a", prometheus_replica="1")]
    assert served(PLAIN, tick(PLAIN, same)) == "500m"
    meant = policy(QUEUE.format(more=", reduce: sum"))
    assert served(meant, tick(meant, twice)) == "1100m"


def test_a_duplicate_that_ended_gives_way_to_the_one_that_lives() -> None:
    old = many("queue", [(50, 9), (35, 9)], pod="a", instance="10.0.0.1")
    new = many("queue", [(20, 2), (5, 2)], pod="a", instance="10.0.0.2")
    # With a 15 s interval a sample of 35 s ago has missed its scrape (1.5 × 15 + 1 = 23.5 s).
    assert served(PLAIN, tick(PLAIN, [old, new])) == "200m"


@pytest.mark.parametrize("reason", ["upstream-error", "upstream-timeout", "upstream-rejected", "partial"])
def test_an_upstream_failure_is_the_reason(reason: str) -> None:
    failing = {"queue": Missing(Reason(reason), "prometheus:9090 answered 503")}
    result = outcome(PLAIN, tick(PLAIN, [one("queue", 5)], failing=failing))
    assert isinstance(result, NoSignal)
    assert result.missing.reason == reason
    assert "prometheus:9090 answered 503" in result.missing.message


def test_a_value_that_no_quantity_can_hold_is_too_large() -> None:
    loaded = policy("""\
  inputs: {queue: {query: queue, unit: count}}
  terms: {q: {concurrency: queue, per_replica: 0.001}}
  publish: {metric: m}
""")
    # 9e15 ÷ 0.001 = 9e18, above 9223372036854775
    assert served(loaded, tick(loaded, [one("queue", 9e15)])) == "<too-large>"


def test_a_derived_query_is_as_old_as_its_freshness_selector_says() -> None:
    query = "sum(rate(requests_total[1m]))"
    loaded = policy(f"""\
  inputs: {{load: {{query: "{query}", unit: per_second, freshness: requests_total}}}}
  terms: {{l: {{throughput: load, rate_per_replica: 1/s, share: 1}}}}
  publish: {{metric: m}}
""")
    answer = {query: Answer((Series((), (Sample(3.0, T - 18),)),))}
    result = outcome(loaded, tick(loaded, [one("requests_total", 7, age=40)], derived=answer))
    assert isinstance(result, Signal)
    assert (result.text, result.as_of) == ("3", T - 18 - 40)
    assert served(loaded, tick(loaded, [one("requests_total", 7, age=90)], derived=answer)) == "<stale>"
    assert served(loaded, tick(loaded, [], derived=answer)) == "<empty>"


GPU = """\
  replicas: {{preset: kube/deployment-replicas, match: {{deployment: d}}}}
  inputs:
    gpu: {{query: gpu, unit: ratio{more}}}
    queue: {{query: queue, unit: count, per: [instance]}}
  terms:
    compute: {{utilization: gpu, target: 50%}}
    batch: {{concurrency: queue, per_replica: 10}}
  publish: {{metric: m}}
"""
PODS = [one("gpu", 0.6, pod=f"d-{name}") for name in "abcd"]
GATEWAY = one("queue", 10, instance="gw")


def test_a_missing_pod_counts_nothing_upwards_and_its_bound_downwards() -> None:
    loaded = policy(GPU.format(more=""))
    complete = outcome(loaded, tick(loaded, [*PODS, GATEWAY, *replicas(8, 4)]))
    assert isinstance(complete, Signal)
    # 4 × 0.6 ÷ 0.5 = 4.8 below N = 8
    assert complete.text == "4800m"
    partial = outcome(loaded, tick(loaded, [*PODS[:2], GATEWAY, *replicas(8, 4)]))
    assert isinstance(partial, Signal)
    # U = 1.2 ÷ 0.5 = 2.4; two of four ready pods are missing, each at most 1: D = (1.2 + 2) ÷ 0.5 = 6.4, below N = 8
    assert partial.text == "6400m"
    assert (partial.why.up, partial.why.down) == (2.4, 6.4)


def test_the_ready_pods_are_expected_by_name_where_their_names_are_known() -> None:
    loaded = policy(GPU.format(more=""))
    starting = one("gpu", 1.0, pod="d-rs-new")
    named = [one("gpu", 0.6, pod=f"d-rs-{name}") for name in "ab"]
    series = [*named, starting, GATEWAY, *replicas(3, 2, "d-rs-a", "d-rs-b")]
    # The starting pod's 1.0 is not counted: 2 × 0.6 ÷ 0.5 = 2.4, below N = 3.
    assert served(loaded, tick(loaded, series)) == "2400m"


def test_a_pod_that_was_scaled_down_is_not_asked_for_again() -> None:
    loaded = policy(GPU.format(more=""))
    live = [many("gpu", [(30, 0.5), (15, 0.5), (0, 0.5)], pod=f"d-{name}") for name in "ab"]
    gone = many("gpu", [(60, 0.9), (45, 0.9), (30, 0.9)], pod="d-c")
    # Two pods are ready and two report: 2 × 0.5 ÷ 0.5 = 2; with the one that is gone it would be 3.8.
    assert served(loaded, tick(loaded, [*live, gone, GATEWAY, *replicas(2, 2)])) == "2"
    # With three ready it has only missed a scrape, and its last value counts: (1.0 + 0.9) ÷ 0.5 = 3.8.
    assert served(loaded, tick(loaded, [*live, gone, GATEWAY, *replicas(3, 3)])) == "3800m"


def test_rise_only_lets_other_terms_raise_and_nothing_go() -> None:
    loaded = policy(GPU.format(more=""))
    # gpu is missing: [0, ∞); the queue asks for 1, N is 5 and stays.
    assert served(loaded, tick(loaded, [GATEWAY, *replicas(5, 5)])) == "5"
    # The queue asks for 9 and gets it.
    assert served(loaded, tick(loaded, [one("queue", 90, instance="gw"), *replicas(5, 5)])) == "9"
    # No term has data: no signal.
    assert served(loaded, tick(loaded, replicas(5, 5))) == "<empty>"


def test_error_means_no_signal_at_once() -> None:
    loaded = policy(GPU.format(more=", missing: error"))
    assert served(loaded, tick(loaded, [one("queue", 90, instance="gw"), *replicas(5, 5)])) == "<empty>"
    assert served(loaded, tick(loaded, [*PODS[:3], GATEWAY, *replicas(4, 4)])) == "<partial>"


def test_hold_asks_for_the_last_complete_demand_and_its_age_is_never_renewed() -> None:
    loaded = policy(GPU.format(more=", missing: {hold: 2m}"))
    at = T - 18

    def world(ago: float, gpu: bool) -> list[Series]:
        pods = [one("gpu", 0.9, pod=f"d-{name}", at=at - ago, age=0) for name in "abcd"] if gpu else []
        return [*pods, one("queue", 10, instance="gw", at=at - ago), *replicas(4, 4, at=at - ago)]

    def ticks(silent: int) -> list:
        good = tick(loaded, world(15.0 * silent, True), t=T - 15.0 * silent)
        return [good, *[tick(loaded, world(15.0 * i, False), t=T - 15.0 * i) for i in reversed(range(silent))]]

    # 4 × 0.9 ÷ 0.5 = 7.2, above N = 4, for as long as its samples are at most 120 s old: 8 ticks.
    assert served(loaded, *ticks(8)) == "7200m"
    assert served(loaded, *ticks(9)) == "4"


def test_hold_without_replicas_publishes_the_last_complete_demand_then_nothing() -> None:
    loaded = policy(QUEUE.format(more=", missing: {hold: 30s}"))
    good = tick(loaded, [one("queue", 50, at=T - 18 - 30, age=0)], t=T - 30)
    silent = [tick(loaded, [], t=T - 15), tick(loaded, [], t=T)]
    assert served(loaded, good, *silent) == "5"
    assert served(loaded, good, *silent, tick(loaded, [], t=T + 15)) == "<empty>"


def test_assume_shapes_what_is_asked_for_and_lets_nothing_go_unless_allowed() -> None:
    loaded = policy(GPU.format(more=", missing: {assume: 0.9}"))
    # Two of four pods report 0.6, the others are assumed at 0.9: 3.0 ÷ 0.5 = 6, above N = 4.
    assert served(loaded, tick(loaded, [*PODS[:2], GATEWAY, *replicas(4, 4)])) == "6"
    assert served(loaded, tick(loaded, [*PODS[:2], GATEWAY, *replicas(8, 4)])) == "8"
    allowed = policy(GPU.format(more=", missing: {assume: 0.9, scale_down: allowed}"))
    assert served(allowed, tick(allowed, [*PODS[:2], GATEWAY, *replicas(8, 4)])) == "6"
    zero = policy(QUEUE.format(more=", missing: {assume: 0, scale_down: allowed}"))
    assert served(zero, tick(zero, [])) == "0"
    kept = policy(QUEUE.format(more=", missing: {assume: 0}"))
    assert served(kept, tick(kept, [])) == "<empty>"


def test_without_replicas_a_pod_that_vanished_is_partial_for_the_memory() -> None:
    loaded = policy("  memory: 60s\n" + QUEUE.format(more=""))

    def world(ago: float, *pods: str) -> list[Series]:
        return [one("queue", 5, pod=pod, at=T - 18 - ago, age=0) for pod in pods]

    both = tick(loaded, world(15, "a", "b"), t=T - 15)
    assert served(loaded, both) == "1"
    assert served(loaded, both, tick(loaded, world(0, "a"))) == "<partial>"
    # Once the memory no longer holds it, the pod is forgotten.
    assert served(loaded, tick(loaded, world(0, "a"))) == "500m"


def test_replicas_that_cannot_be_read_are_no_replicas() -> None:
    loaded = policy(GPU.format(more=""))
    assert served(loaded, tick(loaded, [*PODS, GATEWAY])) == "<no-replicas>"
    two = [*replicas(4, 4), *replicas(4, 4, deployment="e")]
    either = policy(GPU.format(more="").replace("deployment: d", 'deployment: "~d|e"'))
    assert served(either, tick(either, [*PODS, GATEWAY, *two])) == "<no-replicas>"


def test_wanted_replicas_of_which_none_is_ready_need_something_unknown() -> None:
    loaded = policy(GPU.format(more=""))
    assert served(loaded, tick(loaded, [GATEWAY, *replicas(3, 0)])) == "3"
    # Only where none is wanted is the sum over no pods 0; the gateway's queue still asks.
    assert served(loaded, tick(loaded, [GATEWAY, *replicas(0, 0)])) == "1"


def test_a_value_above_what_a_share_can_be_is_a_unit_mistaken() -> None:
    loaded = policy(GPU.format(more=""))
    series = [*PODS[:3], one("gpu", 85, pod="d-d"), GATEWAY, *replicas(4, 4)]
    result = outcome(loaded, tick(loaded, series))
    # The pod is missing rather than 85 times full: U = 1.8 ÷ 0.5 = 3.6, D = 5.6, N = 4 stays.
    assert isinstance(result, Signal)
    assert result.text == "4"


def test_a_pod_without_a_label_belongs_to_nobody_beside_pods_that_have_one() -> None:
    loaded = policy(QUEUE.format(more=""))
    assert served(loaded, tick(loaded, [one("queue", 5, pod="a"), one("queue", 90)])) == "500m"


def test_groups_are_those_declared_and_those_seen_and_a_missing_one_is_no_signal() -> None:
    loaded = policy("""\
  by: {model: [a, b]}
  inputs: {queue: {query: queue, unit: count}}
  terms: {q: {concurrency: queue, per_replica: 10}}
  publish: {metric: m}
""")
    groups = outcomes(loaded, tick(loaded, [one("queue", 5, pod="x", model="a"), one("queue", 7, pod="y", model="c")]))
    assert [dict(group.labels) for group in groups] == [{"model": "a"}, {"model": "b"}, {"model": "c"}]
    texts = [one.outcome.text if isinstance(one.outcome, Signal) else one.outcome.missing.reason for one in groups]
    assert texts == ["500m", "empty", "700m"]


def test_of_several_labels_every_combination_declared_is_expected() -> None:
    loaded = policy("""\
  by: {model: [a, b], zone: [x]}
  inputs: {queue: {query: queue, unit: count}}
  terms: {q: {concurrency: queue, per_replica: 10}}
  publish: {metric: m}
""")
    groups = outcomes(loaded, tick(loaded, [one("queue", 5, pod="p", model="a", zone="x")]))
    found = [(group.labels["model"], group.labels["zone"], isinstance(group.outcome, Signal)) for group in groups]
    assert found == [("a", "x", True), ("b", "x", False)]


def test_a_rate_of_one_sample_and_a_preset_of_which_a_series_is_missing_are_empty() -> None:
    loaded = policy("""\
  inputs: {arrivals: {preset: vllm/request-arrivals}}
  terms: {load: {throughput: arrivals, rate_per_replica: 1/s}}
  publish: {metric: m}
""")
    done = [many("vllm:request_success_total", [(30, 1), (0, 9)], pod="a", finished_reason="stop")]
    gauges = [many(f"vllm:num_requests_{name}", [(30, 1), (0, 1)], pod="a") for name in ("running", "waiting")]
    # 8 in 30 s, ÷ (0.8 × 1/s) = 0.333
    assert served(loaded, tick(loaded, [*done, *gauges])) == "333m"
    assert served(loaded, tick(loaded, [*done, gauges[0]])) == "<empty>"
    assert served(loaded, tick(loaded, [one("vllm:request_success_total", 9, pod="a"), *gauges])) == "<empty>"


def test_a_share_of_no_memory_at_all_is_not_a_number() -> None:
    loaded = policy("""\
  inputs: {vram: {preset: dcgm/vram-used-ratio}}
  terms: {v: {headroom: vram, base: 0, keep_free: 10%}}
  publish: {metric: m}
""")
    series = [one(f"DCGM_FI_DEV_FB_{name}", 0, pod="a", UUID="g") for name in ("USED", "FREE")]
    assert served(loaded, tick(loaded, series)) == "<not-a-number>"


def test_a_freshness_selector_that_fails_is_the_reason() -> None:
    loaded = policy("""\
  inputs: {load: {query: sum(x), unit: per_second, freshness: y}}
  terms: {l: {throughput: load, rate_per_replica: 1/s}}
  publish: {metric: m}
""")
    assert (
        served(loaded, tick(loaded, [], failing={"y": Missing(Reason.UPSTREAM_TIMEOUT, "slow")}))
        == "<upstream-timeout>"
    )


def test_a_hold_counts_from_the_oldest_sample_and_not_from_the_tick() -> None:
    loaded = policy(QUEUE.format(more=", missing: {hold: 30s}"))
    # The last complete tick is 15 s old and its sample 16 s more: 31 s.
    late = tick(loaded, [one("queue", 50, at=T - 18 - 15, age=16)], t=T - 15)
    assert served(loaded, late, tick(loaded, [])) == "<empty>"


def test_own_replica_queries_need_no_names_of_pods() -> None:
    loaded = policy("""\
  replicas: {query: wanted, ready: ready}
  inputs: {queue: {query: queue, unit: count}}
  terms: {q: {concurrency: queue, per_replica: 10}}
  publish: {metric: m}
""")
    series = [one("queue", 40, pod="a"), one("wanted", 9), one("ready", 1)]
    assert served(loaded, tick(loaded, series)) == "4"
    # Two are ready and one reports.
    assert served(loaded, tick(loaded, [*series[:2], one("ready", 2)])) == "9"


def test_names_that_failed_do_not_matter_where_nobody_is_ready() -> None:
    loaded = policy(GPU.format(more=""))
    failing = {"kube_pod_status_ready": Missing(Reason.UPSTREAM_ERROR, "down")}
    assert served(loaded, tick(loaded, [GATEWAY, *replicas(0, 0)], failing=failing)) == "1"


def test_series_that_all_lack_a_pod_are_not_left_out_for_it() -> None:
    loaded = policy(QUEUE.format(more=", per: [pod, instance]"))
    # Two gateways without pods: (5 + 7) ÷ 10 = 1.2
    assert served(loaded, tick(loaded, [one("queue", 5, instance="a"), one("queue", 7, instance="b")])) == "1200m"
