"""Bounds, combination, schedules: what limits a demand beside its terms, by hand."""

from datetime import datetime
from math import inf
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapter.core.bounds import Amount, BoundsPlan, Replicas, bound
from adapter.core.combining import CombinePlan, combine
from adapter.core.expressions import parse_expression
from adapter.core.schedules import SchedulePlan, limits

STEADY = [Replicas(15.0 * i, 10, 10) for i in range(5)]
ROSE = [*STEADY[:2], *[Replicas(15.0 * i, 14, 10) for i in range(2, 5)]]  # from 10 to 14 at 30 s; now is 60 s


@pytest.mark.parametrize(
    ("plan", "demand", "past", "result"),
    [
        (BoundsPlan(), (12, 12), STEADY, (12, 12)),
        (BoundsPlan(hysteresis_up=Amount(1)), (10.9, 10.9), STEADY, (10, 10.9)),
        (BoundsPlan(hysteresis_up=Amount(1)), (11.1, 11.1), STEADY, (11.1, 11.1)),
        (BoundsPlan(hysteresis_down=Amount(1, 0.2)), (5, 8), STEADY, (5, 10)),  # 20 % of 10 is 2
        (BoundsPlan(hysteresis_down=Amount(1, 0.2)), (5, 7.9), STEADY, (5, 7.9)),
        (BoundsPlan(step_up=Amount(4)), (30, 30), STEADY, (14, 30)),
        (BoundsPlan(step_up=Amount(4, 1.0)), (30, 30), STEADY, (20, 30)),
        (BoundsPlan(step_down=Amount(1)), (2, 2), STEADY, (2, 9)),
        (BoundsPlan(cooldown_down=60), (5, 5), ROSE, (5, 14)),
        (BoundsPlan(cooldown_down=15), (5, 5), ROSE, (5, 5)),
        (BoundsPlan(cooldown_up=60), (20, 20), ROSE, (14, 20)),
        (BoundsPlan(credit_deadline=120), (17, 17), ROSE, (14, 17)),  # 4 are starting: 17 - 4 = 13, not below N = 14
        (BoundsPlan(credit_deadline=120), (20, 20), ROSE, (16, 20)),
        (BoundsPlan(credit_deadline=15), (20, 20), ROSE, (20, 20)),  # asked for too long ago: they crash or wait
    ],
)
def test_each_bound_bites_where_it_should(
    plan: BoundsPlan, demand: tuple[float, float], past: list[Replicas], result: tuple[float, float]
) -> None:
    assert bound(plan, *demand, past)[:2] == result


def test_without_n_nothing_is_bounded() -> None:
    plan = BoundsPlan(Amount(5), Amount(5), Amount(1), Amount(1), 60, 60, 60)
    assert bound(plan, 30, 30, [Replicas(0, None, None)]) == (30, 30, [])


@given(
    n=st.integers(0, 50),
    low=st.floats(0, 100),
    width=st.one_of(st.floats(0, 100), st.just(inf)),
    ready=st.integers(0, 50),
    before=st.integers(0, 50),
    amounts=st.lists(st.floats(0, 10), min_size=4, max_size=4),
)
def test_no_bound_publishes_below_n_and_what_was_asked_for(
    n: int, low: float, width: float, ready: int, before: int, amounts: list[float]
) -> None:
    plan = BoundsPlan(*[Amount(one) for one in amounts], 60, 60, 120)
    up, down, _ = bound(plan, low, low + width, [Replicas(0, before, ready), Replicas(30, n, ready)])
    published = min(max(n, up), down) if up <= down else up
    plain = min(max(n, low), low + width)
    assert up <= down
    assert published >= min(n, plain)


TERMS = {"a": (4.0, 5.0), "b": (6.0, 6.0), "c-d": (1.0, inf)}


@pytest.mark.parametrize(
    ("plan", "result"),
    [
        (CombinePlan(), (6, inf)),
        (CombinePlan("min"), (1, 5)),
        (CombinePlan("sum"), (11, inf)),
        (CombinePlan("weighted", {"a": 3, "b": 1}), (4.5, 5.25)),
        (CombinePlan("expression", expression=parse_expression("max(a, b) + 1")), (7, 7)),
        (CombinePlan("expression", expression=parse_expression("min(a, c_d)")), (1, inf)),
    ],
)
def test_terms_combine_on_each_coordinate(plan: CombinePlan, result: tuple[float, float]) -> None:
    assert combine(plan, TERMS) == result


BERLIN = ZoneInfo("Europe/Berlin")
OFFICE = SchedulePlan("0 8 * * 1-5", "Europe/Berlin", 10 * 3600, 4, 20)
NIGHT = SchedulePlan("0 22 * * *", "UTC", 8 * 3600, None, 6)


@pytest.mark.parametrize(
    ("when", "result"),
    [
        (datetime(2026, 11, 30, 7, 59, tzinfo=BERLIN), (None, None)),  # Monday
        (datetime(2026, 11, 30, 8, 0, tzinfo=BERLIN), (4, 20)),
        (datetime(2026, 11, 30, 17, 59, tzinfo=BERLIN), (4, 20)),
        (datetime(2026, 11, 30, 18, 0, tzinfo=BERLIN), (None, None)),
        (datetime(2026, 11, 29, 9, 0, tzinfo=BERLIN), (None, None)),  # Sunday
        (datetime(2026, 7, 6, 8, 30, tzinfo=BERLIN), (4, 20)),  # summer time: 06:30 UTC
        (datetime(2026, 11, 30, 23, 30, tzinfo=BERLIN), (None, 6)),  # 22:30 UTC
    ],
)
def test_a_schedule_is_in_force_in_its_own_zone(when: datetime, result: tuple[float | None, float | None]) -> None:
    assert limits((OFFICE, NIGHT), when.timestamp())[:2] == result
