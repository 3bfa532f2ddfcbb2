"""Options of reading a trace: what a file itself does not say, with every default in its one home.

Nothing here is guessed from the values: a unit, a zone or a column that neither the file nor an option names is refused
by the reader that needs it.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from adapter.core.samples import Labels, labels_of
from sim.traces.trace import TraceError

INPUT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_MAPPED = re.compile(
    r"(?P<input>[A-Za-z_][A-Za-z0-9_.-]*)(?:\{(?P<labels>[^{}]*)\})?=(?P<column>.*?)"
    r"(?:(?P<sign>[*/])(?P<factor>[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?))?"
)
_COLUMN = re.compile(r"(?P<input>[A-Za-z_][A-Za-z0-9_.-]*)(?:\{(?P<labels>[^{}]*)\})?")
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"?([^",]*)"?\s*')


class Format(StrEnum):
    """The formats there are readers for."""

    CSV = "csv"
    TSV = "tsv"
    JSONL = "jsonl"
    PARQUET = "parquet"
    PROMETHEUS = "prometheus"  # JSON of /api/v1/query_range
    OPENMETRICS = "openmetrics"
    SERIES = "series"  # promtool's notation
    REQUESTS = "requests"  # a request log, as arrival rates
    SERVEGEN = "servegen"  # rates of a service by windows
    RECORDING = "recording"  # what `scaleproof record` writes


class TimeUnit(StrEnum):
    """The unit of time stamps that are plain numbers."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"


class Duplicates(StrEnum):
    """What to do with a second value of one series for the same time."""

    REFUSE = "refuse"
    FIRST = "first"
    LAST = "last"


class Decimal(StrEnum):
    """The sign between whole and fraction."""

    DOT = "dot"
    COMMA = "comma"


@dataclass(frozen=True, slots=True)
class Target:
    """What a column is: an input with labels; its numbers count times the factor."""

    input: str
    labels: Labels = ()
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """How a trace is to be read; None and () mean that the file says it, or that it is refused."""

    format: Format | None = None
    mapping: tuple[tuple[str, Target], ...] = ()
    """Column → what it is; with a mapping, other columns are not read."""
    time_column: str | None = None
    time_unit: TimeUnit | None = None
    zone: ZoneInfo | None = None
    labels: tuple[str, ...] = ()
    """Columns whose texts are labels of the row's samples."""
    where: tuple[tuple[str, str], ...] = ()
    """Only rows that have this text in this column."""
    blanks: tuple[str, ...] = ()
    """Texts that stand for no value, beside the empty cell."""
    decimal: Decimal | None = None
    reorder: float = 0.0
    """Rows may be this many seconds out of order."""
    duplicates: Duplicates = Duplicates.REFUSE
    epoch: float | None = None
    """When the zero of a trace was whose times count from it, in epoch seconds."""
    bucket: float = 15.0
    """Seconds by which a request log is counted."""


@lru_cache(maxsize=8192)
def target_of_column(column: str) -> Target | None:
    """What a column's own name says: `waiting`, or `waiting{pod=a}`."""
    match = _COLUMN.fullmatch(column.strip())
    if match is None:
        return None
    labels = _labels(match["labels"])
    return None if labels is None else Target(match["input"], labels)


def parse_mapping(text: str) -> tuple[str, Target]:
    """`INPUT=COLUMN`, `INPUT{pod=a}=COLUMN`, `INPUT=COLUMN/100`; ValueError says what is wrong."""
    match = _MAPPED.fullmatch(text)
    labels = None if match is None else _labels(match["labels"])
    if match is None or labels is None:
        raise ValueError(f'"{text}" is no mapping; write INPUT=COLUMN, e.g. waiting=queue_length or util=percent/100')
    factor = float(match["factor"] or 1)
    if not 0 < factor < float("inf"):
        raise ValueError(f'"{text}": the factor must be above 0')
    return match["column"], Target(match["input"], labels, 1 / factor if match["sign"] == "/" else factor)


def parse_where(text: str) -> tuple[str, str]:
    """`COLUMN=TEXT`; ValueError where it is not."""
    column, sign, value = text.partition("=")
    if not sign or not column:
        raise ValueError(f'"{text}" is no condition; write COLUMN=TEXT, e.g. deployment=llama-70b')
    return column, value


def parse_zone(text: str) -> ZoneInfo:
    """A zone by its name; ValueError where there is none."""
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f'"{text}" is no time zone; write e.g. Europe/Berlin or UTC') from error


def _labels(text: str | None) -> Labels | None:
    if text is None:
        return ()
    found = [_LABEL.fullmatch(part) for part in text.split(",")]
    return labels_of({match[1]: match[2] for match in found if match is not None}) if all(found) else None


def refuse(where: str, wrong: str, fix: str) -> TraceError:
    """A refusal in the one form: place, what is wrong, what to do."""
    return TraceError(f"{where}: {wrong}; {fix}")
