"""What each term asks for, with the numbers worked out by hand in the comments."""

import pytest
from policy_world import T, many, one, outcome, policy, replicas, served, tick

from adapter.core.policy import Capacity
from adapter.core.policy_references import references
from adapter.core.policy_terms import TermBase
from adapter.core.signals import Signal
from adapter.core.term_planning import plan_term

PLAIN = """\
  inputs: {queue: {query: queue, unit: count}}
  terms: {q: {concurrency: queue, per_replica: 10}}
  publish: {metric: m}
"""
REPLICAS = "  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}\n"


def test_throughput_divides_arrivals_by_a_share_of_what_one_replica_can_do() -> None:
    loaded = policy("""\
  inputs:
    arrivals: {query: gateway_rps, unit: per_second}
  capacity: {rate_per_replica: 6/s}
  terms:
    load: {throughput: arrivals, share: 80%}
  publish: {metric: m}
""")
    # 42 ÷ (0.8 × 6) = 8.75
    assert served(loaded, tick(loaded, [one("gateway_rps", 42)])) == "8750m"


def test_a_backlog_is_added_to_the_throughput_it_stands_beside() -> None:
    loaded = policy("""\
  inputs:
    arrivals: {query: gateway_rps, unit: per_second}
    waiting: {query: queue, unit: count}
  capacity: {rate_per_replica: 4.4/s, cold_start: 120s}
  terms:
    load: {throughput: arrivals, share: 80%, plus: {backlog: waiting}}
  publish: {metric: m}
""")
    # 17.6 ÷ (0.8 × 4.4) = 5, and 34 ÷ (4.4 × 120) = 0.0643939; the drain is the cold start where nothing else is said.
    assert served(loaded, tick(loaded, [one("gateway_rps", 17.6), one("queue", 34)])) == "5064m"


def test_a_bare_backlog_is_drained_in_the_time_given() -> None:
    loaded = policy("""\
  inputs:
    waiting: {query: queue, unit: count}
  capacity: {rate_per_replica: 2/s}
  terms:
    queue: {backlog: waiting, drain: 30s}
  publish: {metric: m}
""")
    # 90 ÷ (2 × 30) = 1.5
    assert served(loaded, tick(loaded, [one("queue", 90)])) == "1500m"


def test_concurrency_divides_what_is_in_flight() -> None:
    loaded = policy("""\
  inputs:
    flight: {preset: vllm/requests-in-flight}
  terms:
    batch: {concurrency: flight, per_replica: 10}
  publish: {metric: m}
""")
    series = [
        one("vllm:num_requests_running", 32, pod="a", engine="0"),
        one("vllm:num_requests_waiting", 16, pod="a", engine="0"),
        one("vllm:num_requests_running", 30, pod="b", engine="0"),
        one("vllm:num_requests_waiting", 18, pod="b", engine="0"),
    ]
    # 32 + 16 + 30 + 18 = 96, ÷ 10 = 9.6
    assert served(loaded, tick(loaded, series)) == "9600m"


def test_utilization_sums_over_the_pods_and_divides_by_the_target() -> None:
    loaded = policy("""\
  inputs:
    gpu: {preset: dcgm/engine-active, match: {pod: "~d-.*"}}
  terms:
    compute: {utilization: gpu, target: 70%}
  publish: {metric: m}
""")
    values = {"d-a": 0.9, "d-b": 0.9, "d-c": 0.8, "d-e": 1.0}
    series = [
        one("DCGM_FI_PROF_GR_ENGINE_ACTIVE", value, exported_pod=pod, exported_namespace="prod", pod="dcgm-1", UUID=pod)
        for pod, value in values.items()
    ]
    # (0.9 + 0.9 + 0.8 + 1.0) ÷ 0.7 = 5.142857
    assert served(loaded, tick(loaded, series)) == "5143m"


def test_headroom_counts_what_is_above_the_base_over_the_room_of_one_replica() -> None:
    loaded = policy("""\
  inputs:
    vram: {query: vram_used_bytes, unit: bytes}
  terms:
    memory: {headroom: vram, base: 50GiB, capacity: 80GiB, keep_free: 8GiB}
  publish: {metric: m}
""")
    gibibyte = 2**30
    loading = one("vram_used_bytes", 5 * gibibyte, pod="c")
    busy = [one("vram_used_bytes", 66 * gibibyte, pod=pod) for pod in ("a", "b")]
    # 2 × (66 - 50) ÷ (80 - 50 - 8) = 32 ÷ 22 = 1.4545; a pod that still loads is below the base and adds 0, not -45.
    assert served(loaded, tick(loaded, [*busy, loading])) == "1455m"


HEADROOM = policy(f"""\
{REPLICAS}\
  inputs:
    kv: {{preset: vllm/kv-cache-usage}}
  terms:
    cache: {{headroom: kv, keep_free: {{up: 35%, down: 45%}}}}
  publish: {{metric: m}}
""")


@pytest.mark.parametrize(
    ("n", "text"),
    [
        (4, "4800m"),  # U = 3.12 ÷ 0.65 = 4.8 is above 4
        (5, "5"),  # 5 lies within [4.8, 5.6727]: nothing moves
        (6, "5673m"),  # D = 3.12 ÷ 0.55 = 5.6727 is below 6
    ],
)
def test_two_targets_leave_a_band_in_which_n_stays(n: int, text: str) -> None:
    values = [0.8, 0.8, 0.76, 0.76] + [0.0] * (n - 4)
    series = [one("vllm:kv_cache_usage_perc", value, pod=f"d-{i}") for i, value in enumerate(values)]
    assert served(HEADROOM, tick(HEADROOM, [*series, *replicas(n, n)])) == text


def test_the_largest_term_decides_and_the_account_names_it() -> None:
    loaded = policy("""\
  inputs:
    queue: {query: queue, unit: count}
    gpu: {query: gpu, unit: percent}
  terms:
    small: {concurrency: queue, per_replica: 10}
    large: {utilization: gpu, target: 50%}
  publish: {metric: m}
""")
    result = outcome(loaded, tick(loaded, [one("queue", 12), one("gpu", 80, pod="a"), one("gpu", 70, pod="b")]))
    assert isinstance(result, Signal)
    # 12 ÷ 10 = 1.2; (0.8 + 0.7) ÷ 0.5 = 3
    assert result.text == "3"
    assert [(term.name, term.up, term.down) for term in result.why.terms] == [("small", 1.2, 1.2), ("large", 3.0, 3.0)]
    assert result.why.decided_by.startswith("term large")
    assert [(one.name, one.pods, one.total) for one in result.why.inputs] == [("queue", 1, 12.0), ("gpu", 2, 1.5)]


def test_arrivals_are_completions_plus_the_growth_of_what_is_in_flight() -> None:
    loaded = policy("""\
  inputs:
    arrivals: {preset: vllm/request-arrivals}
  terms:
    load: {throughput: arrivals, share: 1, rate_per_replica: 1/s}
  publish: {metric: m}
""")
    series = [
        # 120 done in 60 s: 2/s; a reset at the third sample counts as from 0: 100→160, then 0→60.
        many("vllm:request_success_total", [(60, 100), (30, 160), (0, 60)], pod="a", finished_reason="stop"),
        many("vllm:num_requests_running", [(60, 8), (30, 8), (0, 8)], pod="a"),
        many("vllm:num_requests_waiting", [(60, 0), (30, 15), (0, 30)], pod="a"),
        # 1/s done, and the queue falls by 1.5/s: arrivals are not below 0.
        many("vllm:request_success_total", [(60, 0), (0, 60)], pod="b", finished_reason="stop"),
        many("vllm:num_requests_running", [(60, 8), (0, 8)], pod="b"),
        many("vllm:num_requests_waiting", [(60, 90), (0, 0)], pod="b"),
    ]
    # pod a: 2 + (30 - 0) ÷ 60 = 2.5; pod b: max(0, 1 - 1.5) = 0
    assert served(loaded, tick(loaded, series)) == "2500m"


def test_n_is_the_largest_of_the_last_minute_so_that_a_stale_one_cannot_oscillate() -> None:
    falling = many(
        "kube_deployment_spec_replicas", [(70, 9), (45, 7), (30, 6), (15, 5), (0, 5)], namespace="prod", deployment="d"
    )
    series = [
        falling,
        one("kube_deployment_status_replicas_ready", 5, namespace="prod", deployment="d"),
        *[one("vllm:kv_cache_usage_perc", 0.7, pod=f"d-{i}") for i in range(5)],
    ]
    # U = 3.5 ÷ 0.65 = 5.38, D = 3.5 ÷ 0.55 = 6.36; N = 7 (45 s ago; the 9 is too old), so D is published.
    result = outcome(HEADROOM, tick(HEADROOM, series))
    assert isinstance(result, Signal)
    assert (result.text, result.why.n, result.why.ready) == ("6364m", 7.0, 5)


def test_floor_and_ceiling_come_last() -> None:
    spec = """\
  inputs: {{queue: {{query: queue, unit: count}}}}
  terms: {{q: {{concurrency: queue, per_replica: 10}}}}
  publish: {{metric: m, floor: {floor}, ceiling: {ceiling}}}
"""
    bounded = policy(spec.format(floor=2, ceiling=8))
    assert served(bounded, tick(bounded, [one("queue", 3)])) == "2"
    assert served(bounded, tick(bounded, [one("queue", 300)])) == "8"
    assert served(bounded, tick(bounded, [])) == "<empty>"


def test_a_total_is_the_sum_itself_and_a_ratio_is_to_n() -> None:
    total = policy("""\
  inputs: {queue: {query: queue, unit: count}}
  terms: {q: {concurrency: queue, per_replica: 7}}
  publish: {metric: m, as: total}
""")
    assert served(total, tick(total, [one("queue", 96)])) == "96"
    ratio = policy(f"""\
{REPLICAS}\
  inputs: {{queue: {{query: queue, unit: count, per: [instance]}}}}
  terms: {{q: {{concurrency: queue, per_replica: 10}}}}
  publish: {{metric: m, as: ratio}}
""")
    # 90 ÷ 10 = 9 replicas for N = 6: 1.5
    assert served(ratio, tick(ratio, [one("queue", 90, instance="gw"), *replicas(6, 6)])) == "1500m"
    assert served(ratio, tick(ratio, [one("queue", 90, instance="gw"), *replicas(0, 0)])) == "<no-replicas>"


def test_as_of_is_the_time_of_the_oldest_sample() -> None:
    loaded = policy("""\
  inputs: {queue: {query: queue, unit: count}}
  terms: {q: {concurrency: queue, per_replica: 10}}
  publish: {metric: m}
""")
    result = outcome(loaded, tick(loaded, [one("queue", 3, pod="a", age=2), one("queue", 3, pod="b", age=14)]))
    assert isinstance(result, Signal)
    assert result.as_of == T - 18 - 14


def test_a_total_follows_the_side_that_decided() -> None:
    loaded = policy(f"""\
{REPLICAS}\
  inputs: {{queue: {{query: queue, unit: count}}}}
  terms: {{q: {{concurrency: queue, per_replica: 10}}}}
  publish: {{metric: m, as: total}}
""")
    queue = [one("queue", 40, pod="d-a"), one("queue", 20, pod="d-b")]
    # 60 in all, 6 replicas: above N = 3 and below N = 9 the sum itself.
    assert served(loaded, tick(loaded, [*queue, *replicas(3, 2)])) == "60"
    assert served(loaded, tick(loaded, [*queue, *replicas(9, 2)])) == "60"
    # One of three pods is missing, so N = 7 stays: 7 × 10.
    assert served(loaded, tick(loaded, [*queue, *replicas(7, 3)])) == "70"


def test_the_account_of_a_signal_is_plain_data() -> None:
    loaded = policy("""\
  inputs: {queue: {query: queue, unit: count}}
  terms: {q: {concurrency: queue, per_replica: 10}}
  publish: {metric: m}
""")
    result = outcome(loaded, tick(loaded, [one("queue", 3)]))
    assert isinstance(result, Signal)
    data = result.why.as_data()
    assert (data["up"], data["down"], data["n"]) == (0.3, 0.3, None)


def test_the_smallest_of_a_pod_counts_where_that_is_asked_for() -> None:
    loaded = policy("""\
  inputs: {queue: {query: queue, unit: count, reduce: min}}
  terms: {q: {concurrency: queue, per_replica: 10}}
  publish: {metric: m}
""")
    assert (
        served(loaded, tick(loaded, [one("queue", 30, pod="a", port="1"), one("queue", 20, pod="a", port="2")])) == "2"
    )


def test_a_term_of_an_unknown_kind_is_a_fault_of_ours_and_not_nothing() -> None:
    with pytest.raises(TypeError):
        plan_term("t", TermBase(), policy(PLAIN).plan, Capacity())
    with pytest.raises(TypeError):
        references(TermBase())
