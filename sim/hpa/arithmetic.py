"""Numbers as the controller's machine has them: int32, int64 and IEEE doubles on amd64.

The controller is compiled Go: integers wrap, a division by zero gives an infinity or NaN, and a double that does not
fit an integer becomes that integer's most negative value (the CVTTSD2SI instruction). Python does none of this by
itself. Knows nothing about autoscaling.
"""

import math

MAX32 = 2**31 - 1
MIN32 = -(2**31)
MAX64 = 2**63 - 1
MIN64 = -(2**63)

_TOO_BIG_FOR_64 = 2.0**63


def wrap32(value: int) -> int:
    """The low 32 bits of an integer as an int32: 2147483648 is -2147483648."""
    return (value + 2**31) % 2**32 - 2**31


def wrap64(value: int) -> int:
    """The low 64 bits of an integer as an int64."""
    return (value + 2**63) % 2**64 - 2**63


def divide(dividend: float, divisor: float) -> float:
    """An IEEE division: x / 0 is an infinity, 0 / 0 is NaN."""
    if divisor != 0.0:
        return dividend / divisor
    if dividend == 0.0 or math.isnan(dividend):
        return math.nan
    return math.copysign(math.inf, dividend) * math.copysign(1.0, divisor)


def ceil32(value: float) -> int:
    """The int32 of ceil(value); out of range, infinite or NaN is -2147483648."""
    if -2147483649.0 < value <= 2147483647.0:
        return math.ceil(value)
    return MIN32


def truncate32(value: float) -> int:
    """The int32 of a double, cut towards zero; out of range, infinite or NaN is -2147483648."""
    if -2147483649.0 < value < 2147483648.0:
        return int(value)
    return MIN32


def ceil64(value: float) -> int:
    """The int64 of ceil(value); out of range, infinite or NaN is the most negative one."""
    if -_TOO_BIG_FOR_64 <= value < _TOO_BIG_FOR_64:
        return math.ceil(value)
    return MIN64
