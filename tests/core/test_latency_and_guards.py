"""Latency terms, conditions and guards, told as stories on the grid; N = 4 ready pods unless said otherwise."""

import pytest
from policy_world import T, many, one, outcome, policy, replicas, served, tick

from adapter.core.samples import Series
from adapter.core.signals import Signal
from adapter.core.ticks import Tick

SLOW = """\
  every: 30s
  memory: 15m
  replicas: {{preset: kube/deployment-replicas, match: {{deployment: d}}}}
  inputs:
    ttft: {{preset: vllm/time-to-first-token, quantile: 0.5, window: 60s{more}}}
    gpu: {{query: gpu, unit: ratio}}
  capacity: {{cold_start: 120s}}
  terms:
    compute: {{utilization: gpu, target: 50%}}
    slow: {{latency: ttft, objective: 2s, max_step: 50%{when}}}
  publish: {{metric: m}}
"""


def buckets(at: float, fast: int, slow: int, pod: str = "d-0") -> list[Series]:
    """A minute in which so many requests took up to 1 s and so many from 2 to 4 s."""
    counts = {"1.0": fast, "2.0": fast, "4.0": fast + slow, "+Inf": fast + slow}
    name = "vllm:time_to_first_token_seconds_bucket"
    return [many(name, [(60, 100), (0, 100 + count)], at=at, pod=pod, le=le) for le, count in counts.items()]


def world(at: float, fast: int, slow: int, *, gpu: float = 0.3, ready: int = 4) -> list[Series]:
    pods = [one("gpu", gpu, pod=f"d-{i}", at=at, age=0) for i in range(ready)]
    return [*buckets(at, fast, slow), *pods, *replicas(ready, ready, at=at)]


def story(spec: str, *steps: tuple[int, int], gpu: float = 0.3, end: float = T) -> list[Tick]:
    """Ticks of 30 s that end at T, each with its fast and slow requests."""
    loaded = policy(spec)
    times = [end - 30 * place for place in reversed(range(len(steps)))]
    return [tick(loaded, world(t - 18, *step, gpu=gpu), t=t) for t, step in zip(times, steps, strict=True)]


PLAIN = SLOW.format(more="", when="")


def test_a_percentile_above_the_objective_asks_for_more_ready_replicas() -> None:
    # Half of 100 took up to 1 s, half from 2 to 4 s; of 150 the 75th is the 25th of 100 slow: 2 + 2 × 25 ÷ 100 = 2.5 s.
    # 4 ready × 2.5 ÷ 2 = 5
    assert served(policy(PLAIN), *story(PLAIN, (50, 100))) == "5"


def test_a_step_is_bounded() -> None:
    # All 100 from 2 to 4 s: the 50th is 3 s, 3 ÷ 2 = 1.5; with 10 s it would still be 1.5: 4 × 1.5 = 6
    assert served(policy(PLAIN), *story(PLAIN, (0, 100))) == "6"


def test_within_the_objective_a_latency_asks_for_nothing_and_lets_others_go_down() -> None:
    # compute: 4 × 0.3 ÷ 0.5 = 2.4, below N = 4
    assert served(policy(PLAIN), *story(PLAIN, (100, 10))) == "2400m"


def test_few_requests_say_nothing() -> None:
    # 15 slow requests are fewer than min_count 20.
    assert served(policy(PLAIN), *story(PLAIN, (0, 15))) == "2400m"


def test_a_step_is_taken_once_a_period_and_kept_in_it() -> None:
    # A period is cold start 120 s + window 60 s = 180 s, on the grid of the clock: T = 1.8e9 is one's beginning.
    assert T % 180 == 0
    loaded = policy(PLAIN)
    begin = T + 30
    steps = [(0, 100), (100, 0), (100, 0)]
    ticks = [tick(loaded, world(begin + 30 * i - 18, *step), t=begin + 30 * i) for i, step in enumerate(steps)]
    # The first tick of the period was too slow: 4 × 1.5 = 6, also while it is fast again.
    assert [served(loaded, *ticks[: i + 1]) for i in range(3)] == ["6", "6", "6"]
    later = tick(loaded, world(T + 180 - 18, 100, 0), t=T + 180)
    assert served(loaded, *ticks, later) == "2400m"
    # Replicas that the step added are not multiplied again within the period.
    grown = tick(loaded, world(begin + 90 - 18, 0, 100, ready=6), t=begin + 90)
    assert served(loaded, *ticks, grown) == "6"


def test_a_missing_latency_asks_for_nothing_and_lets_nothing_go() -> None:
    loaded = policy(PLAIN)
    silent = [series for series in world(T - 18, 0, 0) if "bucket" not in dict(series.labels)["__name__"]]
    assert served(loaded, tick(loaded, silent)) == "4"


@pytest.mark.parametrize(
    ("gpu", "text"),
    [(0.8, "6400m"), (0.3, "2400m")],  # compute: 4 × gpu ÷ 0.5; slow asks for 6 only while gpu > 70%
)
def test_a_condition_that_is_false_takes_its_term_out(gpu: float, text: str) -> None:
    spec = SLOW.format(more="", when=', when: "gpu > 70%"')
    assert served(policy(spec), *story(spec, (0, 100), gpu=gpu)) == text


def test_a_share_above_a_split_is_a_ratio_like_any_other() -> None:
    spec = """\
  inputs:
    slow: {preset: vllm/time-to-first-token, share_above: 2s, window: 60s}
  terms:
    misses: {expression: "slow * 20"}
  publish: {metric: m}
"""
    loaded = policy(spec)
    # 50 of 150 took more than 2 s: 20 ÷ 3 = 6.667
    assert served(loaded, tick(loaded, buckets(T - 18, 100, 50))) == "6667m"


def test_the_slow_mode_alone_has_a_percentile_of_its_own() -> None:
    spec = PLAIN.replace("quantile: 0.5,", "quantile: 0.5, slower_than: 2s,")
    # However many hits there are, half of the misses (2 to 4 s) took more than 3 s: 4 × min(3 ÷ 2, 1.5) = 6
    assert served(policy(spec), *story(spec, (1000, 40))) == "6"


GUARDED = """\
  every: 30s
  memory: 5m
  replicas: {{preset: kube/deployment-replicas, match: {{deployment: d}}}}
  inputs:
    gpu: {{query: gpu, unit: ratio}}
    vram: {{query: vram, unit: ratio}}
  terms:
    compute: {{utilization: gpu, target: 50%}}
  guards:
    - {{hold_scale_down: {{{cause}, for: 2m, max: 4m}}}}
  publish: {{metric: m}}
"""


def guarded(cause: str, *extras: list[Series]) -> list[str]:
    """What is served at each tick of 30 s, given what each tick sees beside four pods that would do with 2.4."""
    loaded = policy(GUARDED.format(cause=cause))
    ticks: list[Tick] = []
    shown = []
    for place, extra in enumerate(extras):
        t = T + 30 * place
        pods = [one("gpu", 0.3, pod=f"d-{i}", at=t - 18, age=0) for i in range(4)]
        moved = [
            Series(series.labels, tuple(type(s)(s.value, s.time + t - T) for s in series.samples)) for series in extra
        ]
        ticks.append(tick(loaded, [*pods, *moved, *replicas(4, 4, at=t - 18)], t=t))
        shown.append(served(loaded, *ticks[-loaded.plan.memory_ticks :]))
    return shown


def vram(value: float) -> list[Series]:
    return [one("vram", value, pod="d-0", age=0)]


def test_a_guard_holds_while_its_cause_is_true_and_for_a_while_after() -> None:
    shown = guarded('when: "vram > 95%"', vram(0.5), vram(0.97), *[vram(0.5)] * 6)
    # True at 30 s, so held until 150 s: the ticks at 30, 60, 90, 120 and 150 s.
    assert shown == ["2400m", "4", "4", "4", "4", "4", "2400m", "2400m"]


def test_a_guard_that_never_clears_is_released_after_its_longest_time() -> None:
    shown = guarded('when: "vram > 95%"', *[vram(0.97)] * 10)
    # It holds from the first tick for less than 240 s: eight ticks.
    assert shown == ["4"] * 8 + ["2400m"] * 2


def test_a_cause_that_cannot_be_judged_holds_too() -> None:
    assert guarded('when: "vram > 95%"', []) == ["4"]


def restarts(count: int, reason: str | None = None, name: str = "d-rs-a") -> list[Series]:
    """A restart counter that stood at 0 a minute ago."""
    pod = {"namespace": "prod", "pod": name, "container": "vllm"}
    found = [many("kube_pod_container_status_restarts_total", [(60, 0), (20, count), (0, count)], **pod)]
    if reason is not None:
        found.append(one("kube_pod_container_status_last_terminated_reason", 1, reason=reason, age=0, **pod))
    return found


def test_an_oom_kill_holds_and_another_restart_does_not() -> None:
    assert guarded("after: oom-kill", restarts(1, "OOMKilled")) == ["4"]
    assert guarded("after: oom-kill", restarts(1, "Error")) == ["2400m"]
    assert guarded("after: oom-kill", restarts(0)) == ["2400m"]
    assert guarded("after: restart", restarts(1, "Error")) == ["4"]
    assert guarded("after: restart", restarts(1, "Error", name="other-rs-a")) == [
        "4"
    ]  # no pod of ours: unknown, so held


def test_an_event_counts_from_when_it_happened() -> None:
    shown = guarded("after: restart", restarts(1), *[restarts(0)] * 5)
    # It happened 20 s before the first instant, within that tick's 30 s; held for 120 s from that tick.
    assert shown == ["4", "4", "4", "4", "4", "2400m"]


def test_an_alert_that_fires_holds_and_one_that_does_not_exist_is_quiet() -> None:
    firing = [one("ALERTS", 1, alertname="Drift", alertstate="firing", age=0)]
    pending = [one("ALERTS", 1, alertname="Drift", alertstate="pending", age=0)]
    assert guarded("alert: Drift", firing) == ["4"]
    assert guarded("alert: Drift", pending) == ["2400m"]
    assert guarded("alert: Drift", []) == ["2400m"]


def test_after_a_gap_nothing_goes_until_five_good_ticks() -> None:
    loaded = policy(GUARDED.format(cause='when: "gpu > 2"'))
    ticks: list[Tick] = []
    shown = []
    for place in range(8):
        t = T + 30 * place
        pods = [] if place == 1 else [one("gpu", 0.3, pod=f"d-{i}", at=t - 18, age=0) for i in range(4)]
        ticks.append(tick(loaded, [*pods, *vram(0.1), *replicas(4, 4, at=t - 18)], t=t))
        shown.append(served(loaded, *ticks))
    # Good, an outage, four good ticks that hold N = 4, and from the fifth on it goes down again.
    assert shown == ["2400m", "<empty>", "4", "4", "4", "4", "2400m", "2400m"]


def test_two_targets_make_a_band_for_every_proportional_term() -> None:
    spec = """\
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs: {flight: {query: flight, unit: count, per: [instance]}}
  terms: {batch: {concurrency: flight, per_replica: {up: 10, down: 8}}}
  publish: {metric: m}
"""
    loaded = policy(spec)

    def at(n: int) -> str:
        return served(loaded, tick(loaded, [one("flight", 40, instance="gw"), *replicas(n, n)]))

    # U = 40 ÷ 10 = 4, D = 40 ÷ 8 = 5
    assert [at(n) for n in (3, 4, 5, 6)] == ["4", "4", "5", "5"]


def test_an_expression_gives_demand_and_its_account() -> None:
    spec = """\
  inputs:
    queue: {query: queue, unit: count, per: [instance]}
    gpu: {query: gpu, unit: ratio, per: [instance]}
  terms: {own: {expression: "gpu > 50% ? queue / 4 : 1"}}
  publish: {metric: m}
"""
    loaded = policy(spec)
    result = outcome(loaded, tick(loaded, [one("queue", 30, instance="a"), one("gpu", 0.6, instance="a")]))
    assert isinstance(result, Signal)
    assert (result.text, result.why.terms[0].text) == ("7500m", "gpu > 50% ? queue / 4 : 1 = 7.5")
    assert served(loaded, tick(loaded, [one("queue", 30, instance="a")])) == "<empty>"
