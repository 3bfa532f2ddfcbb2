"""Numbers with units as people write them in policies, and the units of samples.

Every reader takes what YAML gave (text or number) and returns a float in the base unit: seconds, shares of 1, per
second, bytes. A ValueError says what was read, what is allowed and an example.
"""

import math
import re
from enum import StrEnum

_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|d)")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
MAX_DURATION_CHARACTERS = 64
_RATE = re.compile(r"^([0-9.eE+-]+)\s*/\s*(s|m|h)$")
_BYTES = re.compile(r"^([0-9.]+)\s*(B|k|M|G|T|Ki|Mi|Gi|Ti|kB|KB|MB|GB|TB|KiB|MiB|GiB|TiB)$")
_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}


class Unit(StrEnum):
    """What the samples of an input count, as they arrive from the source."""

    COUNT = "count"
    RATIO = "ratio"
    PERCENT = "percent"
    BYTES = "bytes"
    SECONDS = "seconds"
    PER_SECOND = "per_second"
    CELSIUS = "celsius"

    @property
    def base(self) -> "Unit":
        """The unit after conversion: percent becomes ratio."""
        return Unit.RATIO if self is Unit.PERCENT else self

    def to_base(self, value: float) -> float:
        """A sample's value in the base unit, e.g. 73 percent is 0.73."""
        return value / 100 if self is Unit.PERCENT else value


def parse_duration(value: object) -> float:
    """Seconds of a duration such as "15s", "2m", "1h30m" or "500ms"; a bare 0 is no time at all."""
    if value == 0 and not isinstance(value, bool):
        return 0.0
    text = value if isinstance(value, str) and len(value) <= MAX_DURATION_CHARACTERS else ""
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise ValueError(f"{_shown(value)} is not a duration; write a number with ms, s, m, h or d, e.g. 15s or 1h30m")
    # sum and not fsum, which raises where the parts are finite and their sum is not; a range is checked by the caller.
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def parse_share(value: object) -> float:
    """A share of one: "80%" or 0.8. A bare number above 1 is refused, since 50 may mean 50 % or fifty times."""
    if isinstance(value, str) and value.endswith("%"):
        number = _number(value[:-1].strip(), value, "a share such as 80% or 0.8")
        return number / 100
    number = _number(value, value, "a share such as 80% or 0.8")
    if number > 1:
        shown = _shown(value)
        raise ValueError(
            f"{shown} cannot be reached by a share, which runs from 0 to 1; write {shown}% if percent is meant"
        )
    return number


def parse_rate(value: object) -> float:
    """Events per second: "4.4/s", "264/m" or 4.4."""
    if isinstance(value, str) and (match := _RATE.match(value.strip())):
        return _number(match.group(1), value, "a rate such as 4.4/s") / _SECONDS[match.group(2)]
    return _number(value, value, "a rate such as 4.4/s or 264/m")


def parse_bytes(value: object) -> float:
    """Bytes: "80GiB", "80Gi", "500MB" or a bare number of bytes."""
    if isinstance(value, str) and (match := _BYTES.match(value.strip())):
        suffix = match.group(2).rstrip("B")
        base = 1024 if suffix.endswith("i") else 1000
        number = _number(match.group(1), value, "an amount of memory such as 80GiB")
        return _number(number * base ** _POWERS.get(suffix[:1].lower(), 0), value, "an amount of memory such as 80GiB")
    return _number(value, value, "an amount of memory such as 80GiB")


def parse_number(value: object) -> float:
    """A plain finite number, written as a number or as its text."""
    return _number(value, value, "a number")


def _number(value: object, shown: object, wanted: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"{_shown(shown)} is not {wanted}")
    try:
        number = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{_shown(shown)} is not {wanted}") from None
    if not math.isfinite(number):
        raise ValueError(f"{_shown(shown)} is not finite; write {wanted}")
    return number


def _shown(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def show_duration(seconds: float) -> str:
    """A duration as a policy would write it: 90 → "1m30s"."""
    if seconds != int(seconds):
        return f"{seconds:g}s"
    parts = []
    rest = int(seconds)
    for unit, size in (("h", 3600), ("m", 60), ("s", 1)):
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
