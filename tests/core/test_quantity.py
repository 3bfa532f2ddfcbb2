"""Quantities: the milli-values that the HorizontalPodAutoscaler reads, worked out by hand or by apimachinery."""

import pytest

from adapter.core import quantity


@pytest.mark.parametrize(
    ("text", "milli"),
    [
        ("0", 0),
        ("7", 7000),
        ("7300m", 7300),
        ("1.5k", 1_500_000),
        ("400u", 1),
        ("-1500u", -2),
        ("1Ki", 1_024_000),
        ("2e3", 2_000_000),
    ],
)
def test_a_quantity_reads_as_the_milli_value_the_autoscaler_sees(text: str, milli: int) -> None:
    assert quantity.parse_milli(text) == milli


@pytest.mark.parametrize("text", ["", "NaN", "1,5", "1 k", "++1", "1e", "k", "."])
def test_a_text_that_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a quantity"):
        quantity.parse_quantity(text)


@pytest.mark.parametrize(
    ("demand", "text"),
    [
        (7.3, "7300m"),
        (3.0000000000000004, "3"),
        (0.0099, "0"),
        (0.01, "10m"),
        (0.0, "0"),
        (2.0004, "2"),
        (2.0006, "2001m"),
    ],
)
def test_replicas_are_rounded_to_the_nearest_milli_and_below_a_hundredth_to_zero(demand: float, text: str) -> None:
    assert quantity.write_milli(quantity.milli_of_replicas(demand)) == text


@pytest.mark.parametrize(
    ("value", "milli"),
    [
        (0.4, 400),
        (0.0004, 1),
        (13.000000001, 13001),
        (0.1 + 0.2, 300),
        (1.0000000000000002, 1000),
        (123456789.12345679, 123456789124),
        (-0.0001, -1),
        (0.0, 0),
    ],
)
def test_other_values_are_rounded_away_from_zero(value: float, milli: int) -> None:
    assert quantity.milli_of_value(value) == milli


@pytest.mark.parametrize("text", ["1\n", "1e101", "1e-101"])
def test_a_quantity_ends_where_its_text_ends_and_its_exponent_is_bounded(text: str) -> None:
    with pytest.raises(ValueError, match=r"quantity|exponent"):
        quantity.parse_quantity(text)
