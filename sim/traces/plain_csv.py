"""The plain CSV trace: a header `t_s,INPUT,…`, a row a time, an empty cell for no sample.

Needs no mapping: a column is the input of that name, `signal`, `replicas` or `ready`. A column `INPUT{pod=NAME}` is one
pod's. The file is read twice, once to learn what is in it and then row by row, so that its length costs no memory.
"""

import csv
import gzip
import re
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from math import isfinite
from pathlib import Path
from typing import IO

from adapter.core.samples import Labels, labels_of
from sim.traces.trace import Survey, TraceError, TraceHeader, TraceSample

TIME_COLUMN = "t_s"
MAX_COLUMNS = 4096

_COLUMN = re.compile(r"(?P<input>[A-Za-z_][A-Za-z0-9_.-]*)(?:\{(?P<labels>[^{}]*)\})?")
_LABEL = re.compile(r'\s*([A-Za-z_][A-Za-z0-9_]*)\s*=\s*"?([^",]*)"?\s*')

Column = tuple[str, Labels]


class PlainCsv:
    """A plain CSV file, or the same compressed by gzip (.gz)."""

    def __init__(self, path: Path, epoch: float | None = None) -> None:
        self._path = path
        self._columns: list[Column] = []
        survey = Survey(str(path))
        for time, cells in self._rows():
            survey.row(time)
            for (name, labels), cell in zip(self._columns, cells, strict=True):
                if cell is None:
                    survey.blank(name)
                else:
                    survey.sample(name, labels)
        found = survey.header()
        names = tuple(dict.fromkeys(name for name, _ in self._columns))
        self._header = TraceHeader(
            names, found.start, found.end, found.step, epoch, found.source, found.notes, found.blanks, found.holes,
            any(label == "pod" for _, labels in self._columns for label, _ in labels),
        )  # fmt: skip

    @property
    def header(self) -> TraceHeader:
        """What is in the file."""
        return self._header

    def samples(self) -> Iterator[TraceSample]:
        """All samples, row by row."""
        columns = self._columns
        for time, cells in self._rows():
            for (name, labels), cell in zip(columns, cells, strict=True):
                if cell is not None:
                    yield TraceSample(time, name, cell, labels)

    def _rows(self) -> Iterator[tuple[float, list[float | None]]]:
        last = float("-inf")
        with _opened(self._path) as file:
            reader = csv.reader(file)
            try:
                self._columns = _columns(next(reader, []), self._path)
                width = len(self._columns) + 1
                for row in reader:
                    if not row:
                        continue
                    if len(row) != width:
                        raise TraceError(f"{self._path}:{reader.line_num}: {len(row)} cells, the header has {width}")
                    try:
                        time = float(row[0])
                        cells = [float(cell) if cell else None for cell in row[1:]]
                    except ValueError:
                        time, *cells = _slowly(row, f"{self._path}:{reader.line_num}")  # type: ignore[assignment]
                    if not last <= time < float("inf"):
                        message = f"the time {row[0]} is before the row above" if isfinite(time) else "no finite time"
                        raise TraceError(f"{self._path}:{reader.line_num}: {message}")
                    last = time
                    yield time, cells
            except (csv.Error, UnicodeDecodeError, EOFError, gzip.BadGzipFile) as error:
                raise TraceError(f"{self._path}:{reader.line_num}: {error}") from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    try:
        if path.suffix == ".gz":
            with gzip.open(path, "rb") as packed, TextIOWrapper(packed, "utf-8-sig", newline="") as text:
                yield text
        else:
            with path.open(encoding="utf-8-sig", newline="") as text:
                yield text
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error


def _columns(header: list[str], path: Path) -> list[Column]:
    if not header or header[0].strip() != TIME_COLUMN:
        said = header[0] if header else ""
        raise TraceError(f'{path}:1: the first column is "{said}"; a plain trace begins with {TIME_COLUMN},INPUT,…')
    if not 2 <= len(header) <= MAX_COLUMNS:
        raise TraceError(f"{path}:1: {len(header) - 1} columns of inputs, from 1 to {MAX_COLUMNS - 1} are read")
    columns = [_column(cell.strip(), path) for cell in header[1:]]
    if len(set(columns)) != len(columns):
        twice = next(name for index, (name, _) in enumerate(columns) if columns[index] in columns[:index])
        raise TraceError(f'{path}:1: the column "{twice}" stands twice')
    return columns


def _column(text: str, path: Path) -> Column:
    column = parse_column(text)
    if column is None:
        raise TraceError(
            f'{path}:1: "{text}" is no column; write the name of an input, e.g. waiting or waiting{{pod=a}}'
        )
    return column


def parse_column(text: str) -> Column | None:
    """The input and the labels of `INPUT` or `INPUT{pod=NAME}`; None where it is neither."""
    match = _COLUMN.fullmatch(text)
    labels = {} if match is None or match["labels"] is None else _labels(match["labels"])
    return None if match is None or labels is None else (match["input"], labels_of(labels))


def _labels(text: str) -> dict[str, str] | None:
    found = [_LABEL.fullmatch(part) for part in text.split(",")]
    return {match[1]: match[2] for match in found if match is not None} if all(found) else None


def _slowly(row: list[str], where: str) -> list[float | None]:
    """The cells of a row that is not plain: blanks around numbers are passed over, anything else is told."""
    cells: list[float | None] = []
    for cell in row:
        text = cell.strip()
        try:
            cells.append(float(text) if text else None)
        except ValueError:
            raise TraceError(f'{where}: "{text}" is no number; an empty cell is no sample') from None
    if cells[0] is None:
        raise TraceError(f"{where}: the row has no time")
    return cells
