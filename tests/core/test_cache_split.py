"""A latency whose exporter tells cache hits from misses: each mode by itself, and the share of hits."""

import pytest
from policy_world import HEAD, LIBRARY, many, outcome, policy, replicas, served, tick

from adapter.core.policy_reading import read_policies
from adapter.core.samples import Series
from adapter.core.signals import Signal

SPEC = """\
  memory: 10m
  replicas: {{preset: kube/deployment-replicas, match: {{deployment: d}}}}
  inputs:
    slow: {{{source}, quantile: 0.5, window: 60s, cache: {{label: cache{read}}}}}
  capacity: {{cold_start: 120s}}
  terms:
    misses: {{latency: slow, objective: 2s, max_step: 50%}}
  publish: {{metric: m}}
"""
OWN = "query: gateway_seconds_bucket, unit: seconds"
PRESET = "preset: generic/request-latency"


def buckets(name: str, fast: int, slow: int, **labels: str) -> list[Series]:
    """A minute in which so many took up to 1 s and so many from 2 to 4 s."""
    counts = {"1.0": fast, "2.0": fast, "4.0": fast + slow, "+Inf": fast + slow}
    return [many(name, [(60, 100), (0, 100 + count)], pod="d-0", le=le, **labels) for le, count in counts.items()]


def world(name: str, hits: int, misses: int) -> list[Series]:
    """So many hits of up to 1 s, so many misses of 2 to 4 s, on 4 ready replicas."""
    told = [*buckets(name, hits, 0, cache="hit"), *buckets(name, 0, misses, cache="miss")]
    return [*told, *replicas(4, 4)]


@pytest.mark.parametrize(
    ("source", "name"),
    [(OWN, "gateway_seconds_bucket"), (PRESET, "model_inference_latency_seconds_bucket")],
    ids=["own", "preset"],
)
def test_the_percentile_is_that_of_the_misses_however_many_hit(source: str, name: str) -> None:
    loaded = policy(SPEC.format(source=source, read=""))
    # Half of the 40 misses took more than 3 s: 4 ready × min(3 ÷ 2, 1.5) = 6. Of all 1,040 the median is a hit's.
    assert served(loaded, tick(loaded, world(name, 1000, 40))) == "6"


def test_the_hits_may_be_read_alone_too() -> None:
    loaded = policy(SPEC.format(source=OWN, read=", read: hits"))
    # The median of the hits is 0.5 s, within 2 s: nothing is asked for, and with one term N = 4 may go to 0.
    assert served(loaded, tick(loaded, world("gateway_seconds_bucket", 1000, 40))) == "0"


def test_too_few_misses_say_nothing() -> None:
    loaded = policy(SPEC.format(source=OWN, read=""))
    result = outcome(loaded, tick(loaded, world("gateway_seconds_bucket", 1000, 19)))
    assert isinstance(result, Signal)
    assert result.text == "0"
    assert "19 requests, fewer than 20" in " ".join(result.why.notes)


def test_the_value_of_a_hit_may_be_called_otherwise_and_every_other_is_a_miss() -> None:
    loaded = policy(SPEC.format(source=OWN, read=', hit: "1"'))
    series = [
        *buckets("gateway_seconds_bucket", 1000, 0, cache="1"),
        *buckets("gateway_seconds_bucket", 0, 30, cache="0"),
        *buckets("gateway_seconds_bucket", 0, 30, cache="stale"),
    ]
    assert served(loaded, tick(loaded, [*series, *replicas(4, 4)])) == "6"


def test_series_that_do_not_tell_are_no_value_rather_than_a_mixture() -> None:
    loaded = policy(SPEC.format(source=OWN, read=""))
    result = outcome(loaded, tick(loaded, [*buckets("gateway_seconds_bucket", 1000, 40), *replicas(4, 4)]))
    assert not isinstance(result, Signal)
    assert "no series has the label cache, so hits and misses cannot be told apart" in result.missing.message


SHARE = """\
  inputs:
    hits: {query: gateway_seconds_bucket, unit: seconds, window: 60s, cache: {label: cache, read: share_of_hits}}
  terms:
    t: {expression: "hits * 10"}
  publish: {metric: m}
"""


def test_the_share_of_hits_is_a_ratio_for_conditions_and_expressions() -> None:
    loaded = policy(SHARE)
    # 60 of 80 hit: 0.75 × 10
    assert served(loaded, tick(loaded, world("gateway_seconds_bucket", 60, 20))) == "7500m"
    # no miss at all, and no hit at all
    assert served(loaded, tick(loaded, buckets("gateway_seconds_bucket", 60, 0, cache="hit"))) == "10"
    assert served(loaded, tick(loaded, buckets("gateway_seconds_bucket", 60, 0, cache="miss"))) == "0"


def test_a_share_of_few_requests_is_missing() -> None:
    loaded = policy(SHARE)
    assert served(loaded, tick(loaded, world("gateway_seconds_bucket", 10, 9))) == "<empty>"


def test_no_term_divides_by_a_share_of_hits() -> None:
    spec = SHARE.replace('{expression: "hits * 10"}', "{utilization: hits, target: 70%}")
    _, problems = read_policies(HEAD + spec, "p.yaml", LIBRARY)
    assert "condition-only" in {problem.code for problem in problems}


def test_a_preset_that_is_no_histogram_has_no_modes() -> None:
    spec = (
        "  inputs: {q: {preset: vllm/requests-waiting, cache: {label: cache}}}\n"
        "  terms: {t: {concurrency: q, per_replica: 1}}\n  publish: {metric: m}\n"
    )
    _, problems = read_policies(HEAD + spec, "p.yaml", LIBRARY)
    assert "histogram" in {problem.code for problem in problems}
