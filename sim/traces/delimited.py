"""CSV and TSV: rows of a text with a header, whatever spreadsheet wrote it.

The sign between columns is that of a `sep=` line, else the one of tab, semicolon and comma that the header has; a
header with two of them is read by the first in this order. Numbers may have a decimal comma unless commas part columns.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from sim.traces.files import open_text
from sim.traces.options import TraceOptions, refuse
from sim.traces.tables import Row, TableTrace
from sim.traces.trace import TraceError

MAX_COLUMNS = 4096


def columns_of(path: Path) -> tuple[list[str], str]:
    """The header, and the sign between columns."""
    cells, sign, _ = _head(path)
    return cells, sign


def _head(path: Path) -> tuple[list[str], str, bool]:
    with open_text(path) as text:
        first = text.readline(1_000_000)
        declared = _declared(first)
        header = text.readline(1_000_000) if declared else first
    sign = declared or next((one for one in ("\t", ";", ",") if one in header), ",")
    cells = [cell.strip() for cell in next(csv.reader([header.rstrip("\r\n")], delimiter=sign), [])]
    return cells, sign, declared is not None


def _declared(line: str) -> str | None:
    text = line.strip("\r\n").strip('"')
    return text[4] if text.lower().startswith("sep=") and len(text) == 5 else None


def delimited_rows(path: Path) -> Iterator[Row]:
    """The rows; TraceError where one has another number of cells than the header."""
    header, sign, is_declared = _head(path)
    if not header or not any(header):
        raise refuse(f"{path}:1", "there is no header", "the first line names the columns, e.g. t_s,waiting")
    if not 2 <= len(header) <= MAX_COLUMNS:
        fix = "write a time and one column or more, parted by comma, semicolon or tab"
        raise refuse(f"{path}:1", f"the header has {len(header)} columns, from 2 to {MAX_COLUMNS} are read", fix)
    twice = next((one for index, one in enumerate(header) if one in header[:index]), None)
    if twice is not None:
        raise refuse(f"{path}:1", f'the column "{twice}" stands twice', "give each column a name of its own")
    with open_text(path) as text:
        reader = csv.reader(text, delimiter=sign)
        try:
            next(reader, None)
            if is_declared:
                next(reader, None)
            for row in reader:
                if not row or row == [""]:
                    continue
                where = f"{path}:{reader.line_num}"
                if len(row) != len(header):
                    fix = "fill the row or see whether another sign parts the columns"
                    raise refuse(where, f"{len(row)} cells, the header has {len(header)}", fix)
                yield Row(where, dict(zip(header, row, strict=True)))
        except csv.Error as error:
            raise TraceError(f"{path}:{reader.line_num}: {error}") from error


def read_delimited(path: Path, options: TraceOptions) -> TableTrace:
    """A CSV or TSV file as a trace."""
    _, sign = columns_of(path)
    return TableTrace(str(path), lambda: delimited_rows(path), options, may_be_comma=sign != ",")
