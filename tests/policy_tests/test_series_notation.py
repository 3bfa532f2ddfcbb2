"""The short form of series, worked out from its description in promtool's documentation."""

import pytest

from sim.policy_tests.series_notation import NotationError, expand


@pytest.mark.parametrize(
    ("text", "samples"),
    [
        ("5", [5]),
        ("1+2x3", [1, 3, 5, 7]),
        ("10-2.5x2", [10, 7.5, 5]),
        ("3x2", [3, 3, 3]),
        ("-1x1", [-1, -1]),
        ("_ 4 _x2 stale", [None, 4, None, None, None]),
        ("0x1 40x0 1e3", [0, 0, 40, 1000]),
        ("", []),
    ],
)
def test_the_short_form_stands_for_these_samples(text: str, samples: list[float | None]) -> None:
    assert expand(text) == samples


@pytest.mark.parametrize(("text", "column"), [("1 2 x5", 5), ("1+2", 1), ("4 five", 3), ("1x2000000", 1)])
def test_what_is_no_sample_is_refused_with_its_place(text: str, column: int) -> None:
    with pytest.raises(NotationError) as refused:
        expand(text)
    assert refused.value.column == column
