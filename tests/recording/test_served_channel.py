"""The channel "served": scrapes of adapters' own metrics as ticks and words."""

from collections.abc import Mapping

from adapter.core.policy_values import value_or_reason
from adapter.core.reasons import Missing, Reason
from adapter.core.recordings import read_line
from adapter.core.samples import Sample, Series, labels_of
from adapter.core.served_channel import served_lines
from adapter.core.signals import GroupSignal, NoSignal, Signal, Why

WHY = Why(0.0, 0.0, (), (), None, None, None, None, "", ())


def series(samples: Mapping[float, float], **labels: str) -> Series:
    return Series(labels_of(labels), tuple(Sample(value, time) for time, value in samples.items()))


def test_each_adapter_has_a_line_and_a_tick_scraped_twice_stands_once() -> None:
    values = [series({101: 2.5, 102: 2.5}, pod="a"), series({101.5: 3}, pod="b")]
    ticks = [series({101: 100, 102: 100, 103: 102}, pod="a"), series({101.5: 101}, pod="b")]
    missing = [series({103: 1}, pod="a", reason="stale"), series({103: 1}, pod="a", reason="partial")]
    first, second = (read_line(line) for line in served_lines(values, ticks, missing))
    assert (first.labels, first.times, first.values) == ((("pod", "a"),), (100, 102), ("2500m", "partial+stale"))
    assert (second.labels, second.times, second.values) == ((("pod", "b"),), (101,), ("3",))


def test_a_scrape_that_tells_neither_a_value_nor_a_reason_is_no_tick() -> None:
    assert served_lines([], [series({101: 100}, pod="a")], []) == []


def test_a_policy_of_several_groups_is_its_largest_value_else_all_its_reasons() -> None:
    small, large = GroupSignal({"m": "a"}, Signal(900, 0, WHY)), GroupSignal({"m": "b"}, Signal(3400, 0, WHY))
    stale = GroupSignal({"m": "c"}, NoSignal(Missing(Reason.STALE, "")))
    empty = GroupSignal({"m": "d"}, NoSignal(Missing(Reason.EMPTY, "")))
    assert value_or_reason([small, large, stale]) == "3400m"
    assert value_or_reason([stale, empty, stale]) == "empty+stale"
    assert value_or_reason([]) == "empty"
