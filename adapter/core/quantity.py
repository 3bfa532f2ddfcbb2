"""Kubernetes quantities in whole milli-units: reading, rounding and writing, in one place.

The external metrics API carries a value as a `resource.Quantity`; the HorizontalPodAutoscaler reads it with
`Quantity.MilliValue`, an int64 that is rounded away from zero. Values are rounded here, once, before they leave, and
what such an int64 cannot hold is refused rather than wrapped.
Source: k8s.io/apimachinery/pkg/api/resource (quantity.go, suffix.go).
"""

import math
import re
from fractions import Fraction

MAX_INT64 = 2**63 - 1
MAX_VALUE = 9_223_372_036_854_775
"""Largest whole value whose milli-value is an int64; a value or a sum of items above it is refused."""

SMALLEST_REPLICAS = 0.01
"""Demand below this is published as 0, else a smoothed tail would keep one replica for ever."""

_QUANTITY = re.compile(r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?[0-9]+)?")
_SUFFIXES = {
    "": Fraction(1),
    **{suffix: Fraction(1024) ** power for power, suffix in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), start=1)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate(("n", "u", "m"), start=-3)},
    **{suffix: Fraction(1000) ** power for power, suffix in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
}
_MAX_EXPONENT = 1000


def parse_quantity(text: str) -> Fraction:
    """The number that a quantity's text stands for, as `ParseQuantity` reads it; ValueError names what is wrong.

    What is finer than a nano is rounded away from zero, and a number with a binary suffix ends at an int64. Go reads a
    sign, a point or a suffix without any digit as 0; here that is an error.
    """
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(
            f'"{text}" is not a quantity; write a number with an optional suffix, e.g. 2, 500m, 1.5k, 80Gi'
        )
    sign, digits, suffix = match.group(1), match.group(2), match.group(3) or ""
    if suffix in _SUFFIXES:
        scale = _SUFFIXES[suffix]
    else:
        exponent = int(suffix[1:])
        if abs(exponent) > _MAX_EXPONENT:
            raise ValueError(f'"{text}" has an exponent outside -{_MAX_EXPONENT}..{_MAX_EXPONENT}')
        scale = Fraction(10) ** exponent
    value = Fraction(math.ceil(Fraction(digits) * scale * 10**9), 10**9)
    if suffix.endswith("i"):
        value = min(value, Fraction(MAX_INT64))
    return -value if sign == "-" else value


def parse_milli(text: str) -> int:
    """The milli-value that the HorizontalPodAutoscaler reads from a quantity: away from zero, not bounded here.

    Go's errs for some negative numbers (what it holds as a decimal, it rounds towards zero or wraps). None is ever
    served, so that is not imitated.
    """
    return _away_from_zero(parse_quantity(text) * 1000)


def _away_from_zero(value: Fraction) -> int:
    return math.ceil(value) if value >= 0 else math.floor(value)


def milli_of_replicas(demand: float) -> int:
    """A demand in replicas as milli-units, to the nearest one: 3 × 0.8 ÷ 0.8 is 3, not 3.001."""
    if demand < SMALLEST_REPLICAS:
        return 0
    # Within so wide a margin of the middle between two the product of doubles rounds as the exact one does.
    milli = demand * 1000
    if milli < 1e9 and abs(milli - math.floor(milli) - 0.5) > 1e-6:
        return round(milli)
    return round(Fraction(demand) * 1000)


def milli_of_value(value: float) -> int:
    """Any other value as milli-units, away from zero as `MilliValue` does, so that what is not 0 never becomes 0.

    What is rounded are the 15 digits that a double holds for sure: 0.1 + 0.2 is 300 and not 301, and so is 0.3.
    """
    return _away_from_zero(Fraction(f"{value:.15g}") * 1000)


def write_milli(milli: int) -> str:
    """The canonical text of a quantity of whole milli-units: "7300m", "7", "0"."""
    if milli % 1000 == 0:
        return str(milli // 1000)
    return f"{milli}m"
