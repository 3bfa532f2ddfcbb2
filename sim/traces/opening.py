"""Opening a trace file by what it is: the one place that knows all readers.

What a file is, its first bytes and its header say; a name's ending only decides between formats that look alike. An
option overrides both.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from sim.traces.delimited import columns_of, delimited_rows, read_delimited
from sim.traces.files import head_of, text_head
from sim.traces.json_lines import json_rows
from sim.traces.options import Format, TraceOptions, refuse
from sim.traces.parquet import parquet_rows
from sim.traces.plain_csv import PlainCsv
from sim.traces.prometheus_json import read_prometheus_json
from sim.traces.recording import FORMAT_NAME, Recording
from sim.traces.request_log import RequestLog, is_request_log
from sim.traces.series_notation import read_series_notation
from sim.traces.servegen_windows import COLUMNS as SERVEGEN_COLUMNS
from sim.traces.servegen_windows import servegen_rows
from sim.traces.tables import Row, RowSource, TableTrace
from sim.traces.trace import Trace

PARQUET_MAGIC = b"PAR1"
_SERIES = re.compile(r"^(- )?\s*input_series:", re.MULTILINE)
_NOTHING = TraceOptions()


def open_trace(path: Path, options: TraceOptions = _NOTHING) -> Trace:
    """The trace in a file; TraceError where no reader can use it."""
    opened = _open(path, options)
    if options.epoch is not None and opened.header.epoch != options.epoch:
        raise refuse(str(path), "its times say themselves when they were", "leave out --start")
    return opened


def _open(path: Path, options: TraceOptions) -> Trace:
    if replace(options, epoch=None) == _NOTHING and _is_plain(path):
        return PlainCsv(path, options.epoch)
    found = options.format or detect(path)
    if found is Format.OPENMETRICS:
        from sim.traces.open_metrics import read_open_metrics  # its library is slow to import, and rarely needed

        return read_open_metrics(path, options)
    if found is Format.SERVEGEN:
        return TableTrace(str(path), lambda: servegen_rows(path), options)
    if found is Format.REQUESTS:
        return RequestLog(str(path), _request_rows(path), options)
    return _READERS[found](path, options)


def detect(path: Path) -> Format:
    """The format of a file; TraceError where it is none of those that are read."""
    if head_of(path).startswith(PARQUET_MAGIC):
        return Format.REQUESTS if _has_requests(parquet_rows, path) else Format.PARQUET
    head = text_head(path)
    start = head.lstrip()
    if not start:
        raise refuse(f"{path}:1", "the file is empty", "give a trace; docs/traces.md lists the formats")
    if start[0] in "{[":
        return _json_format(path, start)
    if _SERIES.search(head):
        return Format.SERIES
    if "# EOF" in head or re.match(r"# (TYPE|HELP|UNIT) ", start):
        return Format.OPENMETRICS
    columns, sign = columns_of(path)
    if tuple(columns) == SERVEGEN_COLUMNS:
        return Format.SERVEGEN
    if is_request_log(columns):
        return Format.REQUESTS
    if len(columns) < 2:
        fix = f"give one of {', '.join(Format)} (see docs/traces.md), and name it with --trace-format"
        raise refuse(f"{path}:1", "this is no format that is known", fix)
    return Format.TSV if sign == "\t" else Format.CSV


def _json_format(path: Path, start: str) -> Format:
    first = start.split("\n", 1)[0]
    if FORMAT_NAME in first:
        return Format.RECORDING
    is_answer = start[0] == "[" or re.search(r'"(resultType|status|result)"\s*:', start[:2000]) is not None
    if is_answer:
        return Format.PROMETHEUS
    return Format.REQUESTS if _has_requests(json_rows, path) else Format.JSONL


def _has_requests(rows: Callable[[Path], Iterator[Row]], path: Path) -> bool:
    return any(is_request_log(list(row.cells)) for row in islice(rows(path), 1))


def _request_rows(path: Path) -> RowSource:
    if head_of(path).startswith(PARQUET_MAGIC):
        return lambda: parquet_rows(path)
    is_json = text_head(path).lstrip().startswith("{")
    return (lambda: json_rows(path)) if is_json else (lambda: delimited_rows(path))


def _is_plain(path: Path) -> bool:
    """Whether a file is a CSV by the plain header, which the fast reader takes."""
    return not head_of(path).startswith(PARQUET_MAGIC) and text_head(path).startswith("t_s,")


_READERS: dict[Format, Callable[[Path, TraceOptions], Trace]] = {
    Format.CSV: read_delimited,
    Format.TSV: read_delimited,
    Format.JSONL: lambda path, options: TableTrace(str(path), lambda: json_rows(path), options),
    Format.PARQUET: lambda path, options: TableTrace(str(path), lambda: parquet_rows(path), options),
    Format.PROMETHEUS: read_prometheus_json,
    Format.SERIES: read_series_notation,
    Format.RECORDING: lambda path, options: Recording(path),
}
