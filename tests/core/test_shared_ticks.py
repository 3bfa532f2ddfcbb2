"""Ticks that share their names: equal to what they were, and made of one object for each name."""

from grid_policies import policy_text
from policy_world import LIBRARY

from adapter.core.policy_reading import read_policies
from adapter.core.samples import Answer, Sample, Series, labels_of
from adapter.core.ticks import Known, Tick, read_tick, shared


def tick(t: float, *pods: str) -> Tick:
    (loaded,), _ = read_policies(policy_text("a"), "a.yaml", LIBRARY)
    series = [
        Series(labels_of({"instance": "".join(pod), "gpu": "0"}), (Sample(number, t - 3),))
        for number, pod in enumerate(pods)
    ]
    return read_tick(loaded.plan, t, {"load": Answer(tuple(series))})


def test_a_shared_tick_is_the_same_and_takes_its_names_from_the_one_before() -> None:
    known: Known = {}
    first, known = shared(tick(100.0, "gateway-a", "gateway-b"), known)
    plain = tick(101.0, "gateway-b", "gateway-c")
    second, known = shared(plain, known)
    assert second == plain
    one, two = (list(made.inputs["load"].groups[()].values.items()) for made in (first, second))
    assert [entity for entity, _ in two] == [("gateway-b",), ("gateway-c",)]
    assert one[1][0] is two[0][0]
    assert one[1][1].parts is two[0][1].parts
    # What is no longer seen is no longer known: names are bounded by one tick's pods.
    assert ("gateway-a",) not in known
    assert ("gateway-c",) in known
