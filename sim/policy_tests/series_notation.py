"""Series notation: the short form in which promtool's unit tests write samples.

`5` is one sample, `1+2x5` is 1 and five more, each 2 above the last, `1-2x5` each 2 below, `3x4` is 3 five times, `_`
one sample that is not there, `_x21` twenty-one of them, `stale` a series that ended. Source: promtool's documentation
of unit testing for rules.
"""

import re

MAX_SAMPLES = 1_000_000

_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[Ii]nf|[Nn]a[Nn]"
_STEP = r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?"
_ITEM = re.compile(
    rf"(?P<value>{_NUMBER})(?:(?P<sign>[+-])(?P<step>{_STEP}))?(?:x(?P<times>[0-9]+))?"
    r"|_(?:x(?P<blanks>[0-9]+))?|(?P<stale>stale)"
)


class NotationError(ValueError):
    """A text that is no series; `column` is where in it, from 1."""

    def __init__(self, message: str, column: int) -> None:
        super().__init__(message)
        self.column = column


def expand(text: str) -> list[float | None]:
    """The samples one step apart; None where there is none."""
    found: list[float | None] = []
    for token in re.finditer(r"\S+", text):
        column = token.start() + 1
        item = _ITEM.fullmatch(token.group())
        if item is None or (item["step"] is not None and item["times"] is None):
            message = f'"{token.group()[:100]}" is no sample: write 5, 1+2x5, 3x4, _, _x20 or stale'
            raise NotationError(message, column)
        count = int(item["times"] or item["blanks"] or 0)
        if len(found) + count >= MAX_SAMPLES:
            raise NotationError(f"more than {MAX_SAMPLES} samples", column)
        if item["value"] is None:
            found += [None] * (count if item["blanks"] is not None else 1)
            continue
        first = float(item["value"])
        step = float(item["step"] or 0) * (-1 if item["sign"] == "-" else 1)
        found += [first + step * number for number in range(count + 1)]
    return found
