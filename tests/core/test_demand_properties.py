"""What holds for every set of samples: losing data never scales down, every answer is a number or a reason."""

from dataclasses import replace

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from policy_world import one, outcome, policy, replicas, tick

from adapter.core.quantity import MAX_VALUE
from adapter.core.readings import InputReadings
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Series
from adapter.core.signals import Signal

INPUTS = """\
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs:
    gpu: {query: gpu, unit: ratio}
    kv: {query: kv, unit: ratio}
    queue: {query: queue, unit: count}
  terms:
    compute: {utilization: gpu, target: 70%}
    cache: {headroom: kv, base: 10%, keep_free: {up: 30%, down: 40%}}
    batch: {concurrency: queue, per_replica: 8}
  publish: {metric: m}
"""
POLICY = policy(INPUTS)

shares = st.floats(0, 1).map(lambda value: round(value, 3))
counts = st.floats(0, 500).map(lambda value: round(value, 1))
pods = st.sampled_from([f"d-{letter}" for letter in "abcdef"])


@st.composite
def worlds(draw: st.DrawFn) -> list[Series]:
    """Samples of up to six pods for three inputs, and a Deployment whose ready pods are at least those that report."""
    members: list[Series] = []
    for metric, values in (("gpu", shares), ("kv", shares), ("queue", counts)):
        for pod in sorted(draw(st.sets(pods))):
            members.append(one(metric, draw(values), pod=pod, age=draw(st.floats(0, 59))))
    reporting = len({series.label("pod") for series in members})
    ready = draw(st.integers(reporting, 8))
    return [*members, *replicas(draw(st.integers(0, 12)), ready)]


def value_of(result: object) -> float | None:
    return result.value_milli / 1000 if isinstance(result, Signal) else None


@settings(max_examples=400, deadline=None)
@given(world=worlds(), data=st.data())
def test_deleting_a_sample_never_publishes_less_than_n_or_what_was_published(
    world: list[Series], data: st.DataObject
) -> None:
    before = outcome(POLICY, tick(POLICY, world))
    assume(isinstance(before, Signal))
    assert isinstance(before, Signal)
    gone = data.draw(st.sampled_from(world))
    after = outcome(POLICY, tick(POLICY, [series for series in world if series is not gone]))
    if isinstance(after, Signal):
        n = before.why.n
        assert n is not None
        assert after.value_milli / 1000 >= min(n, before.value_milli / 1000) - 1e-9


@settings(max_examples=200, deadline=None)
@given(world=worlds(), name=st.sampled_from(["gpu", "kv", "queue"]))
def test_deleting_a_whole_input_never_publishes_less_than_n_or_what_was_published(
    world: list[Series], name: str
) -> None:
    whole = tick(POLICY, world)
    before = outcome(POLICY, whole)
    assume(isinstance(before, Signal))
    assert isinstance(before, Signal)
    failed = InputReadings({}, Missing(Reason.UPSTREAM_ERROR, "down"))
    after = outcome(POLICY, replace(whole, inputs={**whole.inputs, name: failed}))
    if isinstance(after, Signal):
        assert before.why.n is not None
        assert after.value_milli / 1000 >= min(before.why.n, before.value_milli / 1000) - 1e-9


wild = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0.0, -0.0, 1.0, 140737488355328.0, 9.3e15, 1e308, 5e-324, -5e-324]),
)


@settings(max_examples=400, deadline=None)
@given(
    samples=st.lists(st.tuples(st.sampled_from(["gpu", "kv", "queue"]), pods, wild, st.floats(-30, 200)), max_size=12),
    n=wild,
    ready=wild,
)
def test_any_samples_give_a_finite_value_from_zero_or_a_reason(
    samples: list[tuple[str, str, float, float]], n: float, ready: float
) -> None:
    world = [one(metric, value, pod=pod, age=age) for metric, pod, value, age in samples]
    result = outcome(POLICY, tick(POLICY, [*world, *replicas(n, ready)]))
    if isinstance(result, Signal):
        assert 0 <= result.value_milli <= MAX_VALUE * 1000


@settings(max_examples=200, deadline=None)
@given(world=worlds(), data=st.data())
def test_the_order_of_samples_is_irrelevant(world: list[Series], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(world))
    assert outcome(POLICY, tick(POLICY, shuffled)) == outcome(POLICY, tick(POLICY, world))
