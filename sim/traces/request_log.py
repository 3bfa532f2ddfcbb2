"""Request logs as arrival rates: Azure's and Mooncake's columns, a row a request.

Requests are counted by buckets from the first one on; a bucket [a, b) is a row at b, when it is known, and one without
requests is a rate of 0, since a log of all requests that names none says that there were none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sim.traces.instants import SECOND
from sim.traces.options import Target, TraceOptions, refuse
from sim.traces.tables import Cell, RowSource, TableReader
from sim.traces.trace import Survey, TraceHeader, TraceSample

PROMPT = ("ContextTokens", "input_length", "prompt_tokens", "input_tokens")
GENERATED = ("GeneratedTokens", "output_length", "generated_tokens", "output_tokens")
INPUTS = ("requests_per_second", "prompt_tokens_per_second", "generated_tokens_per_second")
MAX_EMPTY_BUCKETS = 1_000_000


class Arrival(NamedTuple):
    """One request: nanoseconds on the log's clock, and its tokens."""

    time: int
    prompt: int
    generated: int


def is_request_log(columns: Sequence[str]) -> bool:
    """Whether these are the columns of a request log."""
    return any(one in columns for one in PROMPT) and any(one in columns for one in GENERATED)


class RequestLog:
    """A log as a trace of rates."""

    def __init__(self, name: str, rows: RowSource, options: TraceOptions) -> None:
        self._name, self._rows, self._options = name, rows, options
        self._step = round(options.bucket * SECOND)
        self._reader = TableReader(rows, options, name)
        survey, first, last, count = Survey(name), 0, 0, 0
        for count, arrival in enumerate(self._read(self._reader), start=1):
            first = arrival.time if count == 1 else first
            last = arrival.time
        if not count or self._reader.instants is None:
            raise refuse(name, "there is no request", "see --where and the file")
        if (last - first) // self._step > MAX_EMPTY_BUCKETS:
            span = (last - first) / SECOND
            fix = "see --time-unit, or count by a longer --bucket"
            raise refuse(name, f"{span:g} s are more than {MAX_EMPTY_BUCKETS} buckets", fix)
        self._is_epoch = bool(self._reader.instants.is_epoch)
        self._first = first
        for time, _ in self._buckets():
            survey.row(time)
        targets = [target.input for target, _ in self._targets()]
        said = f"{count} requests in {(last - first) / SECOND:g} s, counted by {options.bucket:g} s"
        self._header = replace(
            survey.header(),
            inputs=tuple(targets),
            notes=(said, *self._reader.notes()),
            epoch=first / SECOND if self._is_epoch else options.epoch,
        )

    @property
    def header(self) -> TraceHeader:
        """What is in the log."""
        return self._header

    def arrivals(self) -> Iterator[Arrival]:
        """The requests in order, times from the first one."""
        for arrival in self._read(TableReader(self._rows, self._options, self._name)):
            yield arrival._replace(time=arrival.time - self._first)

    def samples(self) -> Iterator[TraceSample]:
        """The rates, bucket by bucket."""
        seconds, targets = self._options.bucket, self._targets()
        for time, sums in self._buckets():
            for target, place in targets:
                yield TraceSample(time, target.input, sums[place] * target.factor / seconds, target.labels)

    def _targets(self) -> list[tuple[Target, int]]:
        if not self._options.mapping:
            return [(Target(name), place) for place, name in enumerate(INPUTS)]
        known = ", ".join(INPUTS)
        for column, _ in self._options.mapping:
            if column not in INPUTS:
                raise refuse(self._name, f"a request log gives {known}, not {column}", "map one of them with --map")
        return [(target, INPUTS.index(column)) for column, target in self._options.mapping]

    def _buckets(self) -> Iterator[tuple[float, list[int]]]:
        """The end of each bucket, and its requests, prompt tokens and generated tokens."""
        zero = 0 if self._is_epoch else self._first
        index, sums = 0, [0, 0, 0]
        for arrival in self.arrivals():
            while arrival.time >= (index + 1) * self._step:
                yield ((index + 1) * self._step + zero) / SECOND, sums
                index, sums = index + 1, [0, 0, 0]
            sums = [sums[0] + 1, sums[1] + arrival.prompt, sums[2] + arrival.generated]
        yield ((index + 1) * self._step + zero) / SECOND, sums

    def _read(self, reader: TableReader) -> Iterator[Arrival]:
        for row in reader.rows():
            yield Arrival(row.time, _tokens(row.cells, PROMPT, row.where), _tokens(row.cells, GENERATED, row.where))


def _tokens(cells: Mapping[str, Cell], names: Sequence[str], where: str) -> int:
    name = next((one for one in names if one in cells), None)
    if name is None:
        raise refuse(where, f"there is none of {', '.join(names)}", "every request has its tokens")
    cell: Any = cells[name]
    try:
        found = int(cell)
    except (TypeError, ValueError):
        found = -1
    if found < 0 or isinstance(cell, bool):
        raise refuse(f"{where}: {name}", f"{cell!r} is no number of tokens", "write a whole number, 0 or more")
    return int(found)
