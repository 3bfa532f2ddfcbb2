"""Kubernetes quantities exactly as the controller reads them, their oddities included.

`adapter.core.quantity` says what a quantity means; this module says what the controller makes of it after a trip
through the API (parsed, written in canonical form, parsed again): above int64 milli-units `10P` reads as 0, `8Ei` as
-1000 and `9223372036854776k` as 192000; `1000E` is stored as `1`. The reading has a fast path (an int64 and a power of
ten) and a slow one (a big decimal), and they round and overflow differently, so both are here.
Source: k8s.io/apimachinery/pkg/api/resource (quantity.go, amount.go, suffix.go, scale_int.go, math.go).
"""

import math
import re
from dataclasses import dataclass, replace

from sim.hpa.arithmetic import MAX64, MIN64, wrap64

_SYNTAX = re.compile(r"^[+-]?(?P<whole>[0-9]*)(?:\.(?P<fraction>[0-9]*))?(?P<suffix>[eEinumkKMGTP]*[+-]?[0-9]*)$")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_DECIMAL_SUFFIX = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_BINARY_SUFFIX = {0: "", **{exponent: suffix for suffix, exponent in _BINARY.items()}}
_EXPONENT = re.compile(r"^[eE][+-]?[0-9]+$")

_FAST_DIGITS = 18
_SHORTCUTS = (1, 2, 3, 6, 9)
_MAX_CHARACTERS = 1000
"""Longer texts are refused; the API server would go on computing with them."""
_SANE_EXPONENT = 1000
"""Beyond this the numbers are only zero or beyond every range; powers of ten are not computed any further."""


class QuantityError(ValueError):
    """The text is not a quantity."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """unscaled × 10^exponent; `is_fast` says on which of the two paths it was read."""

    unscaled: int
    exponent: int
    is_fast: bool
    form: str
    """How it is written: "si" (500m), "exponent" (5e3) or "binary" (2Gi)."""
    text: str | None = None
    """The text itself where the reading keeps it as the canonical form."""

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)


def stored_quantity(text: str) -> Quantity:
    """The quantity as it is after a trip through the API."""
    return parse(canonical(parse(text)))


def milli_value(quantity: Quantity) -> int:
    """`Quantity.MilliValue`: away from zero on the fast path, upwards on the slow one; 0 or wrapped when too big."""
    shift = quantity.exponent + 3
    if quantity.is_fast and shift < 0:
        rounded = _divide_up(abs(quantity.unscaled), -shift)
        return -rounded if quantity.unscaled < 0 else rounded
    if quantity.is_fast:
        factor: int = 10 ** min(shift, _SANE_EXPONENT)
        product = quantity.unscaled * factor
        if MIN64 <= product <= MAX64:
            return product
        # Ten multiplications one by one stop at the overflow; the shortcuts for common powers return what is left.
        return wrap64(product) if shift in _SHORTCUTS else 0
    divisor = 10**6  # the slow path is always in nano-units
    if quantity.unscaled < MAX64:
        low = wrap64(quantity.unscaled)
        quotient = abs(low) // divisor * (-1 if low < 0 else 1)
        return quotient + 1 if low % divisor else quotient
    return wrap64(quantity.unscaled // divisor + (1 if quantity.unscaled % divisor else 0))


def approximate_float(quantity: Quantity) -> float:
    """The double a tolerance becomes: 0.35 is stored as 350m, so 350.0 × 1e-3, which is 0.35000000000000003."""
    try:
        base = float(quantity.unscaled)
    except OverflowError:
        return math.inf if quantity.unscaled > 0 else -math.inf
    if quantity.exponent == 0:
        return base
    return base * (float(f"1e{quantity.exponent}") if quantity.exponent <= 308 else math.inf)


def parse(text: str) -> Quantity:
    """Read a quantity's text; QuantityError if it is none."""
    text = text.strip()
    if text == "":
        raise QuantityError("a quantity cannot be empty")
    if text == "0":
        return Quantity(0, 0, True, "si", text)
    match = _SYNTAX.match(text) if len(text) <= _MAX_CHARACTERS else None
    if match is None:
        text = text[:40]
        raise QuantityError(f'"{text}" is not a quantity; write a number with an optional suffix, e.g. 2, 500m, 80Gi')
    whole, fraction = match["whole"].lstrip("0"), match["fraction"] or ""
    power_of, exponent, form = _suffix(match["suffix"], text)
    quantity = _fast(text, whole or "0", fraction, power_of, exponent, form)
    if quantity is None and match["whole"] + fraction == "":
        raise QuantityError(f'"{text}" has no digits')  # on the fast path it is 0, `Ki` for one
    if quantity is None:
        quantity = _slow(whole, fraction, power_of, exponent, form)
    return replace(quantity, unscaled=-quantity.unscaled) if text[0] == "-" else quantity


def _suffix(suffix: str, text: str) -> tuple[int, int, str]:
    if suffix in _DECIMAL:
        return 10, _DECIMAL[suffix], "si"
    if suffix in _BINARY:
        return 2, _BINARY[suffix], "binary"
    if _EXPONENT.match(suffix) and abs(int(suffix[1:])) <= MAX64:
        exponent = (int(suffix[1:]) + 2**31) % 2**32 - 2**31
        return 10, exponent, "exponent"
    raise QuantityError(
        f'"{text}" has the unknown suffix "{suffix}"; the suffixes are n u m k M G T P E Ki Mi Gi Ti Pi Ei'
    )


def _fast(text: str, whole: str, fraction: str, power_of: int, exponent: int, form: str) -> Quantity | None:
    """Up to 18 digits, fewer for binary ones, and not finer than nano: an int64 and a power of ten; else None."""
    scale, mantissa = exponent, 1
    if power_of == 10:
        precision = _FAST_DIGITS - len(whole) - len(fraction)
    elif fraction == "":
        scale, mantissa = 0, 2**exponent
        precision = 14 - len(whole) - exponent * 3 // 10
    else:
        return None
    scale -= len(fraction)
    if precision < 0 or scale < -9:
        return None
    digits = whole + fraction
    value = int(digits)
    if form == "binary":
        keeps_text = value & 7 != 0
    else:
        keeps_text = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
    return Quantity(value * mantissa, scale, True, form, text if keeps_text else None)


def _slow(whole: str, fraction: str, power_of: int, exponent: int, form: str) -> Quantity:
    """Everything else: a big decimal in nano-units, rounded up; binary ones stop at the largest int64."""
    unscaled, scale = int((whole + fraction) or "0"), -len(fraction)
    if power_of == 10:
        scale = min(scale + exponent, _SANE_EXPONENT)
    else:
        unscaled *= 2**exponent
    nano = unscaled * 10 ** (scale + 9) if scale >= -9 else _divide_up(unscaled, -9 - scale)
    if form == "binary":
        nano = min(nano, MAX64 * 10**9)
        if 0 < nano < 10**9:
            form = "si"
    return Quantity(nano, -9, False, form)


def canonical(quantity: Quantity) -> str:
    """The text the API server stores; an exponent that has no suffix is lost, as it is there."""
    if quantity.text is not None:
        return quantity.text
    if quantity.unscaled == 0:
        return "0"
    if quantity.form == "binary":
        whole = _as_whole_above_1023(quantity)
        if whole is not None:
            amount, times = _without_factors(whole, 1024)
            return f"{amount}{_BINARY_SUFFIX.get(10 * times, '')}"
    amount, times = _without_factors(quantity.unscaled, 10)
    exponent = quantity.exponent + times
    amount, exponent = amount * 10 ** (exponent % 3), exponent - exponent % 3
    if quantity.form == "exponent":
        return f"{amount}e{exponent}" if exponent else str(amount)
    return f"{amount}{_DECIMAL_SUFFIX.get(exponent, '')}"


def _as_whole_above_1023(quantity: Quantity) -> int | None:
    """The whole number of a binary quantity that is written with a binary suffix; None if it is written decimally."""
    divisor = 1 if quantity.exponent == 0 else 10**9  # binary numbers are whole on the fast path, nano on the slow
    if quantity.unscaled % divisor or abs(quantity.unscaled) < 1024 * divisor:
        return None
    return quantity.unscaled // divisor


def _without_factors(value: int, factor: int) -> tuple[int, int]:
    times = 0
    while value % factor == 0:
        value //= factor
        times += 1
    return value, times


def _divide_up(value: int, digits: int) -> int:
    if digits > _SANE_EXPONENT:
        return 1 if value else 0
    divisor: int = 10**digits
    return -(-value // divisor)
