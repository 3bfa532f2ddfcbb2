"""Shaping: demand over a window, by hand; every rule is a function of the points alone."""

from math import exp, inf

import pytest

from adapter.core.shaping import Point, ShapePlan, TrendRule, WindowRule, shape

# Five ticks of 15 s.
UPS = [2.0, 6.0, 4.0, 8.0, 3.0]
POINTS = [Point(15.0 * i, up, up + 1) for i, up in enumerate(UPS)]


def down(window: float, take: str | float) -> float:
    return shape(ShapePlan(down=WindowRule(window, take)), POINTS)[1]


def up(window: float, take: str | float) -> float:
    return shape(ShapePlan(up=WindowRule(window, take)), POINTS)[0]


def test_a_window_takes_the_demands_that_are_younger_than_it() -> None:
    # D is 3 7 5 9 4; a window of 45 s holds the ticks of age 30, 15 and 0.
    assert down(45, "max") == 9
    assert down(45, "mean") == 6
    assert down(45, "min") == 4
    assert down(16, "max") == 9
    assert down(15, "max") == 4
    assert down(75, 0.5) == 5  # the third of five


def test_sustained_upwards_is_the_least_and_downwards_the_most() -> None:
    assert up(30, "min") == 3
    assert up(75, "min") == 2
    assert up(75, "max") == 8


def test_an_ewma_is_finite_and_normalised() -> None:
    # A window of 45 s holds three time constants of 15 s: weights 1, e^-1, e^-2 for ages 0, 15, 30.
    weights = [1, exp(-1), exp(-2)]
    assert up(45, "ewma") == pytest.approx((3 + 8 * weights[1] + 4 * weights[2]) / sum(weights))
    level = [Point(15.0 * i, 5.0, 5.0) for i in range(4)]
    assert shape(ShapePlan(up=WindowRule(60, "ewma")), level) == (5.0, 5.0)


def test_smoothing_never_lowers_a_bound_that_is_open() -> None:
    open_now = [*POINTS[:-1], Point(60.0, 0.0, inf)]
    assert shape(ShapePlan(down=WindowRule(75, "min")), open_now)[1] == inf
    open_before = [Point(0.0, 0.0, inf), *POINTS[1:]]
    assert shape(ShapePlan(down=WindowRule(75, "mean")), open_before)[1] == inf


def test_d_is_never_below_u() -> None:
    # U shaped to 8 lifts D = 4 to it.
    assert shape(ShapePlan(up=WindowRule(75, "max")), POINTS) == (8, 8)


def test_a_trend_looks_ahead_along_a_line_and_never_far() -> None:
    rising = [Point(10.0 * i, 10.0 + i, 10.0 + i) for i in range(6)]
    # A tenth of a replica a second: 20 s ahead 15 + 2 = 17; 600 s ahead it would be 75, bounded at 1.5 × 15.
    assert shape(ShapePlan(trend=TrendRule(60, 20)), rising)[0] == pytest.approx(17)
    assert shape(ShapePlan(trend=TrendRule(60, 600)), rising)[0] == 22.5
    falling = [Point(point.t, 25 - point.up, 25 - point.up) for point in rising]
    assert shape(ShapePlan(trend=TrendRule(60, 600)), falling)[0] == 10
    assert shape(ShapePlan(trend=TrendRule(60, 600)), rising[:2])[0] == 11  # two points are no trend
