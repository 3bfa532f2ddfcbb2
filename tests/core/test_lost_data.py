"""Losing data never scales down: the ways in which a loss could pass for a fall of the load."""

from policy_world import T, many, one, outcome, policy, replicas, served, tick

from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Series
from adapter.core.signals import Signal

GPU = """\
  replicas: {{preset: kube/deployment-replicas, match: {{deployment: d}}}}
  inputs: {{gpu: {{query: gpu, unit: ratio{more}}}}}
  terms: {{compute: {{utilization: gpu, target: 50%}}}}
  publish: {{metric: m}}
"""
PLAIN = policy(GPU.format(more=""))


def test_a_value_a_little_above_its_bound_counts_as_its_bound() -> None:
    full = [one("gpu", value, pod=f"d-{name}") for name, value in (("a", 1.04), ("b", 0.5))]
    # (1 + 0.5) ÷ 0.5 = 3, and no more when the first is lost: D = (0.5 + 1) ÷ 0.5 = 3, not below 1.54 ÷ 0.5 = 3.08.
    assert served(PLAIN, tick(PLAIN, [*full, *replicas(8, 2)])) == "3"
    assert served(PLAIN, tick(PLAIN, [*full[1:], *replicas(8, 2)])) == "3"


def test_a_count_of_pods_beyond_reason_is_assumed_without_being_listed() -> None:
    loaded = policy(GPU.format(more=", missing: {assume: 0.5, scale_down: allowed}"))
    # 9e15 pods at 0.5 ÷ 0.5 = 9e15 replicas, which a quantity can hold; 9e15 objects no memory can.
    assert served(loaded, tick(loaded, replicas(9e15, 9e15))) == "9000000000000000"


def test_a_held_demand_is_not_published_in_place_of_an_n_that_was_lost() -> None:
    loaded = policy("""\
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs: {kv: {query: kv, unit: ratio, missing: {hold: 2m}}}
  terms: {cache: {headroom: kv, keep_free: {up: 35%, down: 45%}}}
  publish: {metric: m}
""")

    def world(ago: float) -> list[Series]:
        values = (0.8, 0.8, 0.76, 0.76, 0.0)
        return [one("kv", value, pod=f"d-{i}", at=T - 18 - ago, age=0) for i, value in enumerate(values)]

    before = tick(loaded, [*world(15), *replicas(5, 5, at=T - 33)], t=T - 15)
    # 3.12 ÷ 0.65 = 4.8 and 3.12 ÷ 0.55 = 5.67: N = 5 is served. Without N, 4.8 would be less than that.
    assert served(loaded, before, tick(loaded, [*world(0), *replicas(5, 5)])) == "5"
    assert served(loaded, before, tick(loaded, world(0))) == "<no-replicas>"


def test_an_idle_pod_that_is_gone_does_not_stand_in_for_a_busy_one_that_fails() -> None:
    live = many("gpu", [(30, 0.9), (15, 0.9), (0, 0.9)], pod="d-a")
    busy = many("gpu", [(30, 0.9), (15, 0.9), (0, 0.9)], pod="d-b")
    gone = many("gpu", [(60, 0.1), (45, 0.1), (30, 0.1)], pod="d-c")
    # Two pods are ready: (0.9 + 0.9) ÷ 0.5 = 3.6.
    assert served(PLAIN, tick(PLAIN, [live, busy, gone, *replicas(6, 2)])) == "3600m"
    # The busy one is lost: what is gone counts 0.1 in U, and 1 more may be hidden: D = (0.9 + 0.1 + 1) ÷ 0.5 = 4.
    result = outcome(PLAIN, tick(PLAIN, [live, gone, *replicas(6, 2)]))
    assert isinstance(result, Signal)
    assert (result.text, result.why.up) == ("4", 2.0)
    assert "partial" in result.why.terms[0].text


def two_gpus(ago: float, *gpus: str) -> list[Series]:
    values = {"0": 0.9, "1": 0.1}
    return [one("gpu", values[gpu], pod="d-a", UUID=gpu, at=T - 18 - ago, age=0) for gpu in gpus]


def test_a_pod_of_which_a_gpu_is_lost_is_missing_rather_than_idle() -> None:
    loaded = policy(GPU.format(more=", reduce: mean"))
    other = [one("gpu", 0.2, pod="d-b", UUID="2", at=T - 18 - ago, age=0) for ago in (15, 0)]
    before = tick(loaded, [*two_gpus(15, "0", "1"), other[0], *replicas(4, 2, at=T - 33)], t=T - 15)
    # (mean(0.9, 0.1) + 0.2) ÷ 0.5 = 1.4
    assert served(loaded, before) == "1400m"
    # The busy GPU is lost. Not (0.1 + 0.2) ÷ 0.5 = 0.6, but up to D = (0.2 + 1) ÷ 0.5 = 2.4.
    result = outcome(loaded, before, tick(loaded, [*two_gpus(0, "1"), other[1], *replicas(4, 2)]))
    assert isinstance(result, Signal)
    assert result.text == "2400m"
    assert "partial" in result.why.terms[0].text


def test_where_gpus_are_told_apart_one_that_is_lost_is_missing_while_the_other_reports() -> None:
    loaded = policy(GPU.format(more=", per: [pod, UUID]"))
    before = tick(loaded, [*two_gpus(15, "0", "1"), *replicas(4, 1, at=T - 33)], t=T - 15)
    # (0.9 + 0.1) ÷ 0.5 = 2, and with the busy one lost (0.1 + 1) ÷ 0.5 = 2.2.
    assert served(loaded, before) == "2"
    assert served(loaded, before, tick(loaded, [*two_gpus(0, "1"), *replicas(4, 1)])) == "2200m"


def test_starting_pods_do_not_stand_in_for_ready_ones_whose_names_are_lost() -> None:
    def world(ago: float) -> list[Series]:
        values = (("a", 0.9), ("new", 0.0))
        return [one("gpu", value, pod=f"d-rs-{name}", at=T - 18 - ago, age=0) for name, value in values]

    named = tick(PLAIN, [*world(15), *replicas(4, 2, "d-rs-a", "d-rs-b", at=T - 33)], t=T - 15)
    # b is ready and does not report: D = (0.9 + 1) ÷ 0.5 = 3.8.
    assert served(PLAIN, named) == "3800m"
    unnamed = [*world(0), *replicas(4, 2)]
    # The names are gone or cannot be asked for: nobody knows who is ready, so N = 4 stays rather than 0.9 ÷ 0.5 = 1.8.
    assert served(PLAIN, named, tick(PLAIN, unnamed)) == "4"
    failing = {"kube_pod_status_ready": Missing(Reason.UPSTREAM_ERROR, "prometheus:9090 answered 503")}
    result = outcome(PLAIN, tick(PLAIN, unnamed, failing=failing))
    assert isinstance(result, Signal)
    assert result.text == "4"
    assert "names of the ready pods are unknown" in result.why.notes[0]
    # Names that say that no pod is ready count as names, whatever the Deployment's status says.
    none_ready = [one("kube_pod_status_ready", 0, namespace="prod", condition="true", pod="d-rs-a")]
    assert served(PLAIN, tick(PLAIN, [*world(0), *replicas(9, 2), *none_ready])) == "<partial>"


def test_nobody_ready_is_nothing_to_ask_for_only_where_the_query_was_answered() -> None:
    none = replicas(0, 0)
    assert served(PLAIN, tick(PLAIN, none)) == "0"
    failing = {"gpu": Missing(Reason.UPSTREAM_TIMEOUT, "no answer")}
    assert served(PLAIN, tick(PLAIN, none, failing=failing)) == "<upstream-timeout>"


def test_a_demand_of_no_pods_can_be_held() -> None:
    loaded = policy(GPU.format(more=", missing: {hold: 2m}"))
    asleep = tick(loaded, replicas(0, 0, at=T - 33), t=T - 15)
    assert served(loaded, asleep, tick(loaded, replicas(1, 0))) == "1"


def test_a_missing_pod_hides_as_many_as_per_tells_apart_of_one() -> None:
    loaded = policy(GPU.format(more=", per: [pod, UUID]"))
    named = replicas(9, 2, "d-a", "d-b")
    other = [one("gpu", 0.2, pod="d-b", UUID="2")]
    # d-a had two GPUs, so up to 2 may be hidden: D = (0.2 + 2) ÷ 0.5 = 4.4, below N = 9.
    before = tick(loaded, [*two_gpus(15, "0", "1"), *replicas(9, 2, "d-a", "d-b", at=T - 33)], t=T - 15)
    assert served(loaded, before, tick(loaded, [*other, *named])) == "4400m"
