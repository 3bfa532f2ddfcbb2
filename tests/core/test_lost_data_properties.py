"""What holds over a whole memory: a loss in any tick never publishes less than N or what was published."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from policy_world import T, one, outcome, policy, replicas, tick

from adapter.core.evaluation import Tick
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.readings import InputReadings
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Series
from adapter.core.signals import NoSignal, Signal

SPEC = """\
  memory: 45s
  replicas: {{preset: kube/deployment-replicas, match: {{deployment: d}}}}
  inputs:
    gpu: {{query: gpu, unit: ratio, reduce: mean{missing}}}
    kv: {{query: kv, unit: ratio, per: [pod, engine]{missing}}}
    queue: {{query: queue, unit: count, per: [instance]{missing}}}
  terms:
    compute: {{utilization: gpu, target: 70%}}
    cache: {{headroom: kv, base: 10%, keep_free: {{up: 30%, down: 40%}}}}
    batch: {{concurrency: queue, per_replica: 8}}
  publish: {{metric: m}}
"""
RULES = ["rise_only", "error", "{hold: 40s}", "{assume: 0.3}"]
POLICIES = {rule: policy(SPEC.format(missing=f", missing: {rule}")) for rule in RULES}

PODS = ("d-rs-a", "d-rs-b", "d-rs-c")
SERIES = (
    *[("gpu", {"pod": pod, "gpu": gpu}) for pod in PODS for gpu in "01"],
    *[("kv", {"pod": pod, "engine": engine}) for pod in PODS for engine in "01"],
    *[("queue", {"instance": instance}) for instance in ("gw-1", "gw-2")],
)
shares = st.floats(0, 1.04).map(lambda value: round(value, 3))


@st.composite
def memories(draw: st.DrawFn) -> list[list[Series]]:
    """Three ticks of all series that ever report, with some lost in each, and a Deployment whose pods are all ready."""
    present = [one for one in SERIES if draw(st.booleans())]
    pods = sorted({labels["pod"] for _, labels in present if "pod" in labels})
    names = pods if draw(st.booleans()) else []
    worlds = []
    for ago in (30, 15, 0):
        members = [
            one(metric, draw(shares) * (100 if metric == "queue" else 1), at=T - 18 - ago, **labels)
            for metric, labels in present
            if draw(st.integers(0, 9))
        ]
        worlds.append([*members, *replicas(draw(st.integers(0, 9)), len(pods), *names, at=T - 18 - ago)])
    return worlds


def ticks(loaded: LoadedPolicy, worlds: Sequence[list[Series]]) -> list[Tick]:
    return [tick(loaded, world, t=T - ago) for world, ago in zip(worlds, (30, 15, 0), strict=True)]


def is_remembered(worlds: Sequence[list[Series]], index: int, members: Sequence[Series]) -> bool:
    """Whether other ticks saw the series too: what no other tick has seen is nothing that could be missed."""
    others = {series.labels for world in worlds if world is not worlds[index] for series in world}
    return all(series.labels in others for series in members)


def check(before: Signal | NoSignal, after: Signal | NoSignal) -> None:
    if isinstance(before, Signal) and isinstance(after, Signal) and before.why.n is not None:
        assert after.value_milli / 1000 >= min(before.why.n, before.value_milli / 1000) - 1e-9


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40, deadline=None)
@given(worlds=memories(), data=st.data())
def test_deleting_a_sample_now_never_publishes_less(rule: str, worlds: list[list[Series]], data: st.DataObject) -> None:
    loaded = POLICIES[rule]
    assume(worlds[-1])
    before = outcome(loaded, *ticks(loaded, worlds))
    gone = data.draw(st.sampled_from(worlds[-1]))
    assume(is_remembered(worlds, -1, [gone]))
    fewer = [series for series in worlds[-1] if series is not gone]
    check(before, outcome(loaded, *ticks(loaded, [*worlds[:-1], fewer])))


@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=40, deadline=None)
@given(worlds=memories(), name=st.sampled_from(["gpu", "kv", "queue", "spec", "ready", "pods"]))
def test_losing_an_input_now_never_publishes_less(rule: str, worlds: list[list[Series]], name: str) -> None:
    loaded = POLICIES[rule]
    whole = ticks(loaded, worlds)
    failed = InputReadings({}, Missing(Reason.UPSTREAM_ERROR, "down"))
    now = whole[-1]
    lost = (
        replace(now, **{name: failed})
        if name in ("spec", "ready", "pods")
        else replace(now, inputs={**now.inputs, name: failed})
    )
    check(outcome(loaded, *whole), outcome(loaded, *whole[:-1], lost))


# A hold lets nothing go while it lasts, a bounded loss lets go down to its bound: where the held tick itself failed,
# D falls from ∞ to that bound, which is right.
@pytest.mark.parametrize("rule", [rule for rule in RULES if "hold" not in rule])
@settings(max_examples=40, deadline=None)
@given(
    worlds=memories(), index=st.integers(0, 1), name=st.sampled_from(["gpu", "kv", "queue", "spec", "ready", "pods"])
)
def test_a_tick_that_failed_before_never_publishes_less(
    rule: str, worlds: list[list[Series]], index: int, name: str
) -> None:
    assume(is_remembered(worlds, index, worlds[index]))
    loaded = POLICIES[rule]
    whole = ticks(loaded, worlds)
    failed = InputReadings({}, Missing(Reason.UPSTREAM_TIMEOUT, "slow"))
    lost = list(whole)
    lost[index] = (
        replace(lost[index], **{name: failed})
        if name in ("spec", "ready", "pods")
        else replace(lost[index], inputs={**lost[index].inputs, name: failed})
    )
    check(outcome(loaded, *whole), outcome(loaded, *lost))
