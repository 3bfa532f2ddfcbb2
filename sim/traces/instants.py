"""Time stamps as whole nanoseconds: numbers by a declared unit, texts with a zone, local times over a clock change.

Exact to the ninth digit, since arrivals a microsecond apart must not fall into one instant. A number below 10⁸ s (March
1973) counts from the trace's own start, a larger one from 1970; the first row decides for all.
"""

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from decimal import Decimal, InvalidOperation

from sim.traces.options import TimeUnit, TraceOptions, refuse

SECOND = 1_000_000_000
EPOCH_FROM_SECONDS = 100_000_000
_MAX_SECONDS = 10_000_000_000  # the year 2286

_UNITS = {TimeUnit.SECONDS: SECOND, TimeUnit.MILLISECONDS: 1_000_000, TimeUnit.MICROSECONDS: 1000,
          TimeUnit.NANOSECONDS: 1}  # fmt: skip
_SUFFIXES = {"_s": TimeUnit.SECONDS, "_sec": TimeUnit.SECONDS, "_seconds": TimeUnit.SECONDS,
             "_ms": TimeUnit.MILLISECONDS, "_milliseconds": TimeUnit.MILLISECONDS, "_us": TimeUnit.MICROSECONDS,
             "_ns": TimeUnit.NANOSECONDS}  # fmt: skip
_TEXT = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?\s*(?P<zone>Z|z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?"
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def nanoseconds_of(moment: datetime) -> int:
    """Nanoseconds since 1970 of a time with a zone."""
    since = moment - _EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds * 1000


class InstantReader:
    """Reads the time stamps of one column, in file order, as nanoseconds."""

    def __init__(self, column: str, options: TraceOptions) -> None:
        self._column, self._options = column, options
        suffix = next((unit for ending, unit in _SUFFIXES.items() if column.lower().endswith(ending)), None)
        self._unit = options.time_unit or suffix
        self.is_epoch: bool | None = None
        """Whether times count from 1970; known after the first row."""
        self.is_naive = False
        """Whether a time had no zone and none was declared, so that UTC was taken."""
        self._is_zoned: bool | None = None
        self._last: int | None = None
        self._last_cell: object = None

    def read(self, cell: object, where: str) -> int:
        """The time of a row; TraceError where it cannot be told."""
        if cell == self._last_cell and self._last is not None:
            return self._last
        if isinstance(cell, datetime):
            cell = cell.isoformat(sep=" ")
        if isinstance(cell, bool) or cell is None or (isinstance(cell, str) and not cell.strip()):
            raise refuse(where, "the row has no time", f"every row needs one in the column {self._column}")
        text = str(cell).strip()
        match = _TEXT.fullmatch(text) if "-" in text else None
        found = self._number(text, where) if match is None else self._moment(match, text, where)
        self._last, self._last_cell = found, cell
        return found

    def _number(self, text: str, where: str) -> int:
        try:
            number = Decimal(text)
        except InvalidOperation:
            number = Decimal("NaN")
        if not number.is_finite():
            fix = "write seconds with --time-unit s, or e.g. 2026-03-01T00:00:15Z"
            raise refuse(where, f'"{text}" is no time', fix)
        if self._unit is None:
            fix = "say it with --time-unit s, ms, us or ns, or in the column's name, e.g. timestamp_ms"
            raise refuse(where, f"the time {text} has no unit", fix)
        found = int(number * _UNITS[self._unit])
        if abs(found) > _MAX_SECONDS * SECOND:
            fix = "the unit may be another: see --time-unit"
            raise refuse(where, f"{text} {self._unit} is after the year 2286", fix)
        is_epoch = found >= EPOCH_FROM_SECONDS * SECOND
        self._same_kind(is_epoch, text, where)
        return found

    def _same_kind(self, is_epoch: bool, text: str, where: str) -> None:
        if self.is_epoch is None:
            self.is_epoch = is_epoch
        elif self.is_epoch != is_epoch:
            fix = "a trace counts all its times from one zero"
            raise refuse(where, f"{text} counts from another zero than the rows above", fix)

    def _moment(self, match: re.Match[str], text: str, where: str) -> int:
        self._same_kind(True, text, where)
        fraction = match[7] or ""
        if len(fraction) > 9:
            raise refuse(where, f"{text} has more than nine digits after the second", "write nine at most")
        try:
            plain = datetime(*(int(match[index] or 0) for index in range(1, 7)))  # type: ignore[arg-type]
        except ValueError as error:
            raise refuse(where, f"{text} is no time ({error})", "write e.g. 2026-03-01T00:00:15Z") from error
        is_zoned = match["zone"] is not None
        if self._is_zoned is not None and self._is_zoned != is_zoned:
            raise refuse(where, f"{text}: some rows have a zone and some have none", "write it in all rows or in none")
        self._is_zoned = is_zoned
        extra = int(fraction.ljust(9, "0")) if fraction else 0
        if is_zoned:
            return nanoseconds_of(plain.replace(tzinfo=_offset(match["zone"]))) + extra
        zone = self._options.zone
        if zone is None:
            self.is_naive = True
            return nanoseconds_of(plain.replace(tzinfo=UTC)) + extra
        return self._local(plain, zone, extra, text, where)

    def _local(self, plain: datetime, zone: tzinfo, extra: int, text: str, where: str) -> int:
        """A local time. One that occurs twice is the first unless that is before the row above."""
        early = nanoseconds_of(plain.replace(tzinfo=zone)) + extra
        late = nanoseconds_of(plain.replace(tzinfo=zone, fold=1)) + extra
        if early < late:
            if self._options.reorder:
                fix = "write the offset of every time, e.g. 02:30+02:00, or leave out --reorder"
                raise refuse(where, f"{text} occurs twice in {zone}, and rows out of order do not tell which", fix)
            return late if self._last is not None and early < self._last else early
        back = plain.replace(tzinfo=zone).astimezone(UTC).astimezone(zone).replace(tzinfo=None)
        if back != plain:
            fix = "see that --timezone is the zone of the file"
            raise refuse(where, f"{text} does not occur in {zone}: the clock was put forward over it", fix)
        return early


def _offset(text: str) -> tzinfo:
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:] or 0)
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))
