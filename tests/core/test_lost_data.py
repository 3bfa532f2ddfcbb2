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
