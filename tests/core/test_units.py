"""Numbers as people write them in policies."""

import pytest

from adapter.core.units import parse_bytes, parse_duration, parse_rate, show_duration


def test_durations_are_shown_as_a_policy_would_write_them() -> None:
    assert [show_duration(seconds) for seconds in (0, 0.5, 18, 90, 3600)] == ["0s", "0.5s", "18s", "1m30s", "1h"]


def test_durations_rates_and_bytes_are_read_in_base_units() -> None:
    assert [parse_duration(text) for text in ("1h30m", "500ms", 0)] == [5400, 0.5, 0]
    assert [parse_rate(value) for value in ("264/m", 4.4)] == [4.4, 4.4]
    assert [parse_bytes(value) for value in ("2KiB", "2k", "2B", 7)] == [2048, 2000, 2, 7]


@pytest.mark.parametrize("value", [15, True, "15", "s", "1s 2s", "-1s"])
def test_what_is_no_duration_is_refused_with_an_example(value: object) -> None:
    with pytest.raises(ValueError, match=r"e\.g\. 15s"):
        parse_duration(value)
