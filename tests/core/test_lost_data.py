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
