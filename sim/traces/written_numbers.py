"""Numbers as cells write them: with a decimal point, or with a decimal comma and points between thousands.

One file has one convention: the first cell that shows it decides, a later one that contradicts is refused. So 1.234,5
is 1234.5 beside 0,85, and never 1.234.
"""

import re

from sim.traces.options import Decimal, refuse

_COMMA = re.compile(r"[-+]?(?:\d+|\d{1,3}(?:\.\d{3})+)(?:,\d+)?(?:[eE][-+]?\d+)?")


class NumberReader:
    """Reads the cells of one file."""

    def __init__(self, declared: Decimal | None, may_be_comma: bool) -> None:
        self.convention: Decimal | None = declared if may_be_comma else Decimal.DOT
        """What the cells showed so far."""
        self._is_declared = declared is not None

    def read(self, text: str, row: str, column: str) -> float:
        """The number of a cell that is not blank; TraceError where it is none or of the other convention."""
        if self.convention is Decimal.DOT and text.replace(".", "", 1).isdecimal() and text.isascii():
            return float(text)  # by far the most frequent kind
        where = f"{row}: {column}"
        if self.convention is not Decimal.COMMA and "," not in text:
            if "." in text:
                self.convention = Decimal.DOT
            return _plain(text, where)
        if "," not in text and "." not in text:
            return _plain(text, where)
        if "," in text and self.convention is Decimal.DOT:
            fix = "write all numbers one way, or say --decimal comma"
            raise refuse(where, f'"{text}" has a comma, and the decimal sign of this file is the point', fix)
        if "," in text and "." in text and text.rindex(".") > text.rindex(","):
            raise refuse(where, f'"{text}" is no number with a decimal comma', "write it as 1234.5 or 1234,5")
        if "," not in text and not self._is_declared:
            fix = "it may be either sign: write it as 1234 or 1,234, or say --decimal comma or dot"
            raise refuse(where, f'"{text}" stands in a file with decimal commas', fix)
        if _COMMA.fullmatch(text) is None:
            raise refuse(where, f'"{text}" is no number with a decimal comma', "write it as 1234,5")
        self.convention = Decimal.COMMA
        return float(text.replace(".", "").replace(",", "."))


def _plain(text: str, where: str) -> float:
    try:
        if "_" not in text:
            return float(text)
    except ValueError:
        pass
    fix = "leave the cell empty for no value, or name the text with --blank; map other columns with --map"
    raise refuse(where, f'"{text}" is no number', fix)
