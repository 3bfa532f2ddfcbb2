"""Tables: rows with a time and cells, from CSV, TSV, JSON Lines or Parquet, as one kind of trace.

Rows go by in the order of the file and are never held, but for those of one time (to find duplicates) and, where it is
asked for, those within --reorder. A table is read twice: once to learn what is in it, and then for its samples.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from adapter.core.samples import Labels
from sim.traces.instants import SECOND, InstantReader
from sim.traces.options import Decimal, Duplicates, Target, TraceOptions, refuse, target_of_column
from sim.traces.trace import Survey, TraceError, TraceHeader, TraceSample
from sim.traces.written_numbers import NumberReader

Cell = str | float | int | None | object

TIME_COLUMNS = ("t_s", "timestamp", "time", "ts", "date", "datetime", "t", "@timestamp", "epoch")
MAX_HELD_ROWS = 1_000_000
MAX_SERIES_A_ROW = 100_000


class Row(NamedTuple):
    """One row as it stands: where, and its cells by column."""

    where: str
    cells: Mapping[str, Cell]


RowSource = Callable[[], Iterable[Row]]


class Timed(NamedTuple):
    """One row with its time in nanoseconds; compared by time and then by its place in the file."""

    time: int
    place: int
    where: str
    cells: Mapping[str, Cell]


class TableReader:
    """One pass over a table: times, order, conditions. Its notes are complete once the pass is."""

    def __init__(self, source: RowSource, options: TraceOptions, name: str) -> None:
        self._source, self._options, self._name = source, options, name
        self.instants: InstantReader | None = None
        self.time_column = options.time_column or ""
        self.moved = 0
        """Rows that came out of order."""

    def rows(self) -> Iterator[Timed]:
        """The rows that count, in the order of their time."""
        rows = self._timed()
        return self._reordered(rows) if self._options.reorder else self._in_order(rows)

    def _timed(self) -> Iterator[Timed]:
        where = self._options.where
        for place, (at, cells) in enumerate(self._source()):
            if self.instants is None:
                self.time_column = self._time_column(cells, at)
                self.instants = InstantReader(self.time_column, self._options)
            if where and any(str(cells.get(column, "")) != text for column, text in where):
                missing = next((column for column, _ in where if column not in cells), None)
                if missing is not None:
                    raise refuse(at, f"there is no column {missing}", f"--where can name {', '.join(cells)}")
                continue
            yield Timed(self.instants.read(cells.get(self.time_column), at), place, at, cells)

    def _time_column(self, cells: Mapping[str, Cell], where: str) -> str:
        declared = self._options.time_column
        columns = list(cells)
        if declared is not None:
            if declared not in cells:
                raise refuse(where, f"there is no column {declared}", f"--time-column can be {', '.join(columns)}")
            return declared
        for column in columns:
            plain = column.strip().lower()
            if plain in TIME_COLUMNS or plain.startswith(("timestamp_", "time_", "t_", "ts_", "epoch_")):
                return column
        fix = f"name it with --time-column; there are {', '.join(columns)}"
        raise refuse(where, "no column is called time, timestamp or t_s", fix)

    def _in_order(self, rows: Iterable[Timed]) -> Iterator[Timed]:
        last: int | None = None
        for row in rows:
            if last is not None and row.time < last:
                raise self._goes_back(row, last)
            last = row.time
            yield row

    def _goes_back(self, row: Timed, last: int) -> TraceError:
        is_naive = self.instants is not None and self.instants.is_naive
        zone = "if the clock was put back there, declare its zone with --timezone; " if is_naive else ""
        back = f"the time goes back by {(last - row.time) / SECOND:g} s"
        return refuse(row.where, back, f"{zone}if rows are out of order, say by how much at most with --reorder")

    def _reordered(self, rows: Iterable[Timed]) -> Iterator[Timed]:
        held: list[Timed] = []
        window = round(self._options.reorder * SECOND)
        newest: int | None = None
        for row in rows:
            if newest is not None and row.time < newest:
                self.moved += 1
                if row.time < newest - window:
                    back = f"the time goes back by {(newest - row.time) / SECOND:g} s"
                    raise refuse(row.where, back, f"--reorder allows {self._options.reorder:g} s")
            newest = row.time if newest is None else max(newest, row.time)
            heapq.heappush(held, row)
            if len(held) > MAX_HELD_ROWS:
                raise refuse(row.where, f"more than {MAX_HELD_ROWS} rows lie within --reorder", "give a shorter one")
            while held and held[0].time < newest - window:
                yield heapq.heappop(held)
        while held:
            yield heapq.heappop(held)

    def notes(self) -> list[str]:
        """What to say of the times."""
        found = []
        if self.instants is not None and self.instants.is_naive:
            found.append("the times have no zone: taken as UTC (--timezone declares another)")
        if self.moved:
            found.append(f"{self.moved} rows were out of order and put right")
        return found


class TableTrace:
    """A table as a trace; `rows` gives its rows anew at each call."""

    def __init__(self, name: str, rows: RowSource, options: TraceOptions, may_be_comma: bool = False) -> None:
        self._name, self._source, self._options, self._may_be_comma = name, rows, options, may_be_comma
        self.repeated = 0
        survey = Survey(name)
        reader = TableReader(rows, options, name)
        first: int | None = None
        numbers = self._numbers()
        for time, samples in self._by_time(reader, numbers):
            first = time if first is None else first
            survey.row((time - first) / SECOND)
            for (column, labels), value in samples.items():
                if value is None:
                    survey.blank(column)
                else:
                    survey.sample(column, labels)
        if first is None or reader.instants is None:
            raise refuse(name, "there is no row to read", "see --where and the file")
        is_epoch = bool(reader.instants.is_epoch)
        self._zero = first if is_epoch else 0
        header, shift = survey.header(), 0.0 if is_epoch else first / SECOND
        holes = tuple(hole._replace(start=hole.start + shift, end=hole.end + shift) for hole in header.holes)
        notes = [*reader.notes(), *header.notes]
        if numbers.convention is Decimal.COMMA:
            notes.insert(0, "numbers have a decimal comma")
        if self.repeated:
            notes.append(f"{self.repeated} duplicate values, of which the {options.duplicates} counts")
        self._header = replace(
            header, start=header.start + shift, end=header.end + shift, holes=holes, notes=tuple(notes),
            epoch=first / SECOND if is_epoch else options.epoch,
        )  # fmt: skip

    @property
    def header(self) -> TraceHeader:
        """What is in the table."""
        return self._header

    def samples(self) -> Iterator[TraceSample]:
        """All samples, row by row."""
        reader = TableReader(self._source, self._options, self._name)
        for time, row in self._by_time(reader, self._numbers()):
            at = (time - self._zero) / SECOND
            for (column, labels), value in row.items():
                if value is not None:
                    yield TraceSample(at, column, value, labels)

    def _numbers(self) -> NumberReader:
        return NumberReader(self._options.decimal, self._may_be_comma)

    def _by_time(
        self, reader: TableReader, numbers: NumberReader
    ) -> Iterator[tuple[int, dict[tuple[str, Labels], float | None]]]:
        """The values of each time by series, None where the cell is blank."""
        time: int | None = None
        held: dict[tuple[str, Labels], float | None] = {}
        for row in reader.rows():
            if time is not None and row.time != time:
                yield time, held
                held = {}
            time = row.time
            for series, value in self._values(row, reader.time_column, numbers):
                if series in held:
                    self._repeat(held, series, value, row.where)
                    continue
                held[series] = value
                if len(held) > MAX_SERIES_A_ROW:
                    raise refuse(row.where, f"more than {MAX_SERIES_A_ROW} series at one time", "read fewer: see --map")
        if time is not None:
            yield time, held

    def _repeat(
        self, held: dict[tuple[str, Labels], float | None], series: tuple[str, Labels], value: float | None, where: str
    ) -> None:
        rule = self._options.duplicates
        if rule is Duplicates.REFUSE:
            fix = "say which counts with --duplicates first or last, or tell series apart with --label COLUMN"
            raise refuse(where, f"a second value of {series[0]} for the time of the row above", fix)
        self.repeated += 1
        if rule is Duplicates.LAST:
            held[series] = value

    def _values(
        self, row: Timed, time_column: str, numbers: NumberReader
    ) -> Iterator[tuple[tuple[str, Labels], float | None]]:
        labels = self._row_labels(row)
        for column, target in self._targets(row, time_column):
            own = tuple(sorted((*labels, *target.labels))) if labels else target.labels
            value = self._value(row.cells[column], row.where, column, numbers)
            yield (target.input, own), None if value is None else value * target.factor

    def _row_labels(self, row: Timed) -> Labels:
        if not self._options.labels:
            return ()
        missing = next((one for one in self._options.labels if one not in row.cells), None)
        if missing is not None:
            raise refuse(row.where, f"there is no column {missing}", f"--label can name {', '.join(row.cells)}")
        return tuple((one, str(row.cells[one])) for one in self._options.labels if row.cells[one] not in ("", None))

    def _targets(self, row: Timed, time_column: str) -> Iterator[tuple[str, Target]]:
        if self._options.mapping:
            for column, target in self._options.mapping:
                if column in row.cells:
                    yield column, target
                elif not self._may_lack_columns:
                    raise refuse(row.where, f"there is no column {column}", f"--map can name {', '.join(row.cells)}")
            return
        other = {time_column, *self._options.labels, *(column for column, _ in self._options.where)}
        for column in row.cells:
            if column in other:
                continue
            found = target_of_column(column)
            if found is None:
                fix = f"map it with --map 'INPUT={column}', or map the columns that are wanted"
                raise refuse(row.where, f'the column "{column}" is no name of an input', fix)
            yield column, found

    @property
    def _may_lack_columns(self) -> bool:
        """Whether a row may have fewer columns than another, as objects of JSON may."""
        return self._name.removesuffix(".gz").endswith(("jsonl", "ndjson", "json"))

    def _value(self, cell: Cell, row: str, column: str, numbers: NumberReader) -> float | None:
        if cell is None:
            return None
        if isinstance(cell, str):
            text = cell.strip()
            return None if not text or text in self._options.blanks else numbers.read(text, row, column)
        if isinstance(cell, bool) or not isinstance(cell, int | float):
            raise refuse(
                f"{row}: {column}", f"{cell!r} is no number", "map the columns that are wanted with --map INPUT=COLUMN"
            )
        value = float(cell)
        return None if self._options.blanks and f"{value:g}" in self._options.blanks else value
