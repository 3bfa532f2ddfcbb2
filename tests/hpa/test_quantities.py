"""Quantities and machine numbers with their oddities; every expected value is what Kubernetes' own code gives."""

import math

import pytest

from sim.hpa.arithmetic import MAX64, MIN32, MIN64, ceil32, ceil64, divide, truncate32, wrap32, wrap64
from sim.hpa.quantities import QuantityError, approximate_float, canonical, milli_value, parse, stored_quantity

MILLI = {
    "2": 2000,
    "1500m": 1500,
    # away from zero on the fast path: 1.5 milli are 2
    "1500u": 2,
    "-1500u": -2,
    "100n": 1,
    "0.0000000001": 1,
    "1e-3": 1,
    "2e6": 2_000_000_000,
    "1.5Gi": 1_610_612_736_000,
    "0.5Ki": 512_000,
    "9P": 9 * 10**18,
    # beyond int64 milli-units: ten multiplications by ten give up, the shortcut for 10^6 wraps
    "10P": 0,
    "9223372036854776k": 192_000,
    "9223372036854775808": 0,
    # more than the largest int64: cut to it, and its milli-value wraps
    "8Ei": -1000,
    "1e400": 0,
    "1e-400": 1,
    "12345678901234567890e-400": 1,
    "12345678901234567890e400": 0,
    # an exponent without a suffix is lost when it is stored
    "1000E": 1000,
    # slow path and negative: the int64 of the nano-value wraps
    "-9223372036854775807m": 1,
    # rounded away from zero to nano, then away from zero to milli; read at once it would be -999
    "-1.00000000000000000001": -1001,
    "1e-2000": 1,
    "0e-2000": 0,
    ".": 0,
    "+": 0,
    "Ki": 0,
    "0": 0,
    "-0": 0,
}


@pytest.mark.parametrize(("text", "milli"), MILLI.items(), ids=MILLI)
def test_the_milli_value_after_a_trip_through_the_api(text, milli):
    assert milli_value(stored_quantity(text)) == milli


STORED = {
    "0.35": "350m",
    "12.345": "12.345",
    "1000": "1k",
    "1500e3": "1500e3",
    "1e2": "100",
    "10e5": "1e6",
    "1024Ki": "1Mi",
    "0.5Ki": "512",
    "1.5Gi": "1536Mi",
    "0.00000001Ki": "10240n",
    "9Ei": "9223372036854775807",
    "1000E": "1",
}


@pytest.mark.parametrize(("text", "stored"), STORED.items(), ids=STORED)
def test_the_text_that_is_stored(text, stored):
    assert canonical(parse(text)) == stored


FLOATS = {
    "0.35": 0.35000000000000003,
    "12345u": 0.012345,
    "5": 5.0,
    "0": 0.0,
    "12345678901234567890": 1.2345678901234567e19,
    "1e400": math.inf,
    "1e308": 1e308,
    "1234567890123456789e400": math.inf,
    "-1234567890123456789e400": -math.inf,
}


@pytest.mark.parametrize(("text", "value"), FLOATS.items(), ids=FLOATS)
def test_the_double_that_a_tolerance_becomes(text, value):
    assert approximate_float(stored_quantity(text)) == pytest.approx(value, rel=1e-15)


def test_a_tolerance_can_be_one_ulp_above_its_literal():
    assert approximate_float(stored_quantity("0.35")) > 0.35


@pytest.mark.parametrize(
    "text", ["", "x", "1 GiB", "5e", "5e+", "1.2.3", "--1", "1x", "Pi", "1e99999999999999999999", "1" * 1001]
)
def test_what_is_no_quantity_is_refused(text):
    with pytest.raises(QuantityError):
        parse(text)


def test_exponents_beyond_int32_wrap():
    assert milli_value(parse("7e4294967296")) == 7000


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2.0**63, -(2.0**64)])
def test_a_double_that_fits_no_integer_becomes_the_most_negative_one(value):
    assert (ceil32(value), truncate32(value), ceil64(value)) == (MIN32, MIN32, MIN64)


def test_doubles_at_the_edges_of_the_integers():
    assert ceil32(2147483646.5) == 2147483647
    assert ceil32(2147483647.5) == MIN32
    assert ceil32(-2147483648.5) == MIN32
    assert truncate32(2147483647.9) == 2147483647
    assert truncate32(-0.9) == 0
    assert ceil64(-(2.0**63)) == MIN64
    assert ceil64(0.1) == 1


def test_divisions_by_zero_are_those_of_ieee_754():
    assert divide(1.0, 0.0) == math.inf
    assert divide(-1.0, 0.0) == -math.inf
    assert divide(1.0, -0.0) == -math.inf
    assert math.isnan(divide(0.0, 0.0))
    assert math.isnan(divide(math.nan, 0.0))


def test_integers_wrap():
    assert wrap32(2**31) == MIN32
    assert wrap64(MAX64 + 1) == MIN64
    assert wrap64(MIN64 - 1) == MAX64
