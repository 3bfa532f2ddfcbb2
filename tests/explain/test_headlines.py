"""The sentence: from N to what, and because of what."""

from collections.abc import Callable

import pytest
from policy_world import one, outcomes, policy, replicas, tick

from adapter.core.headlines import headline
from adapter.core.reasons import Missing, Reason

HEAD = """\
  memory: 1m
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs:
    load: {query: load, unit: count, per: [pod]}
    vram: {query: vram, unit: percent, per: [pod]}
  terms: {batch: {concurrency: load, per_replica: 10}}
"""
PLAIN = HEAD + "  publish: {metric: q}\n"
CEILING = HEAD + "  publish: {metric: q, ceiling: 3}\n"
GUARDED = HEAD.replace("memory: 1m", "memory: 10m") + (
    '  guards: [{hold_scale_down: {when: "vram > 95%", for: 5m, max: 10m}}]\n  publish: {metric: q}\n'
)
TOTAL = HEAD + "  publish: {metric: q, as: total}\n"


def said(spec: str, *, n: int, load: float, vram: float = 50.0, silent: int = 0) -> str:
    """The headline with N replicas, of which the last few do not report a load."""
    loaded = policy(spec)
    pods = [f"d-{number}" for number in range(n)]
    series = replicas(n, n, *pods)
    series += [one("load", load / n, pod=pod) for pod in pods[: n - silent]]
    series += [one("vram", vram, pod=pod) for pod in pods]
    return headline(outcomes(loaded, tick(loaded, series))[0], loaded.policy.spec.publish.as_)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(
            lambda: said(PLAIN, n=4, load=53), "N 4 → 6 because term batch asks for 5.3", id="more: 53 ÷ 10 = 5.3"
        ),
        pytest.param(
            lambda: said(PLAIN, n=8, load=53),
            "N 8 → 6 because term batch justifies no more than 5.3",
            id="fewer",
        ),
        pytest.param(
            lambda: said(PLAIN, n=6, load=53),
            "stays at N 6 because term batch justifies no more than 5.3",
            id="the same by rounding up",
        ),
        pytest.param(lambda: said(PLAIN, n=4, load=40), "stays at N 4 because just as many are needed", id="exactly"),
        pytest.param(
            lambda: said(PLAIN, n=4, load=20, silent=2),
            # Two pods of four report 5 each: 10 ÷ 10 = 1 is needed for sure.
            "stays at N 4 because 1 are needed and nothing says how many may go, since term batch bounds nothing"
            " (load ÷ 10 = 10 ÷ 10 = 1 (partial))",
            id="nothing may go without some pods",
        ),
        pytest.param(
            lambda: said(PLAIN, n=4, load=20, silent=4),
            "no value (empty), so nothing is scaled down: load: no series matches",
            id="no value without any",
        ),
        pytest.param(
            lambda: said(CEILING, n=2, load=53),
            "N 2 → 3 because term batch asks for 5.3, limited by ceiling 3",
            id="a ceiling",
        ),
        pytest.param(
            lambda: said(GUARDED, n=8, load=53, vram=97),
            "stays at N 8 because the terms justify no more than 5.3, but nothing may go"
            " (guard when vram > 95%: holds since 0 s)",
            id="a guard",
        ),
        pytest.param(
            lambda: said(GUARDED, n=4, load=53, vram=97), "N 4 → 6 because term batch asks for 5.3", id="a guard up"
        ),
        pytest.param(
            lambda: said(TOTAL, n=4, load=53), "N 4 → 6 because term batch asks for 5.3", id="a total in replicas"
        ),
    ],
)
def test_one_sentence_says_from_where_to_where_and_why(make: Callable[[], str], words: str) -> None:
    assert make() == words


def test_without_n_there_is_only_what_is_asked_for() -> None:
    loaded = policy(
        "  inputs: {load: {query: load, unit: count}}\n"
        "  terms: {batch: {concurrency: load, per_replica: 10}}\n  publish: {metric: q}\n"
    )
    (group,) = outcomes(loaded, tick(loaded, [one("load", 53)]))
    assert headline(group, "replicas") == "asks for 6, with N unknown, because term batch asks for 5.3"


def test_no_value_is_said_with_its_reason_and_what_follows() -> None:
    loaded = policy(PLAIN)
    down = {"load": Missing(Reason.UPSTREAM_ERROR, "prometheus:9090 answered with status 503")}
    (group,) = outcomes(loaded, tick(loaded, replicas(1, 1, "d-0"), failing=down))
    assert headline(group, "replicas") == (
        "no value (upstream-error), so nothing is scaled down: load: prometheus:9090 answered with status 503"
    )
