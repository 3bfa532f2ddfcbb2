"""Series that a file tells one after another, put into the order of time.

Such a file must be read whole before its first instant is known, so samples are held, 16 bytes each, up to a bound.
"""

import heapq
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from adapter.core.samples import Labels, labels_of
from sim.traces.instants import SECOND
from sim.traces.options import INPUT_NAME, Duplicates, Target, TraceOptions, refuse
from sim.traces.trace import Survey, TraceHeader, TraceSample, holes_in

MAX_SAMPLES = 20_000_000
MAX_GAPS_A_SERIES = 1000
NAMELESS = "value"
"""The column of a series without a name, such as the answer to a query that computes something."""


class SeriesStore:
    """Holds series as they are added, each oldest first; afterwards it is a trace."""

    def __init__(self, name: str, options: TraceOptions, is_epoch: bool = True) -> None:
        self._name, self._options, self._is_epoch = name, options, is_epoch
        self._mapping = dict(options.mapping)
        self._series: dict[tuple[str, Labels], tuple[array[int], array[float]]] = {}
        self._columns: dict[str, None] = {}
        self._count = self.repeated = 0
        self._header: TraceHeader | None = None
        self._zero = 0

    def target(self, labels: dict[str, str]) -> tuple[tuple[str, Labels], float] | None:
        """The series that these labels are, and its factor; None where it is not wanted."""
        column = labels.get("__name__", NAMELESS)
        self._columns[column] = None
        if any(labels.get(label, "") != text for label, text in self._options.where):
            return None
        if self._mapping:
            mapped = self._mapping.get(column)
            if mapped is None:
                return None
        elif INPUT_NAME.fullmatch(column) is None:
            fix = f"map it with --map 'INPUT={column}'"
            raise refuse(self._name, f'"{column}" is no name of an input', fix)
        else:
            mapped = Target(column)
        own = {label: text for label, text in labels.items() if label != "__name__"}
        return (mapped.input, labels_of({**own, **dict(mapped.labels)})), mapped.factor

    def add(self, series: tuple[str, Labels], time: int, value: float, where: str) -> None:
        """One sample; times in nanoseconds."""
        times, values = self._series.setdefault(series, (array("q"), array("d")))
        if times and time <= times[-1]:
            if time < times[-1]:
                back = f"the time of {series[0]} goes back by {(times[-1] - time) / SECOND:g} s"
                raise refuse(where, back, "write each series oldest first")
            rule = self._options.duplicates
            if rule is Duplicates.REFUSE:
                fix = "say which counts with --duplicates first or last"
                raise refuse(where, f"a second value of {series[0]} for one time", fix)
            self.repeated += 1
            if rule is Duplicates.LAST:
                values[-1] = value
            return
        self._count += 1
        if self._count > MAX_SAMPLES:
            fix = "take a shorter span or fewer series with --map and --where, or make it CSV"
            raise refuse(where, f"more than {MAX_SAMPLES} samples, which such a file holds in memory", fix)
        times.append(time)
        values.append(value)

    def close(self, notes: tuple[str, ...] = (), blanks: dict[str, int] | None = None) -> "SeriesStore":
        """Make it a trace."""
        if not self._count:
            there = f"; there are {', '.join(sorted(self._columns)[:10])}" if self._columns else ""
            raise refuse(self._name, f"no sample is wanted or there{there}", "see --map and --where")
        unused = [column for column in self._mapping if column not in self._columns]
        if unused:
            fix = f"--map can name {', '.join(sorted(self._columns)[:10])}"
            raise refuse(self._name, f"there is no series {', '.join(unused)}", fix)
        self._zero = min(times[0] for times, _ in self._series.values()) if self._is_epoch else 0
        survey = Survey(self._name)
        for sample in self.samples():
            survey.row(sample.time)
            survey.sample(sample.input, sample.labels)
        found = survey.header()
        step = self._step()
        if step is not None:
            holes = holes_in((sample.time for sample in self.samples()), step)
            told = tuple(f"no row from {hole.start:g} s to {hole.end:g} s" for hole in holes[:10])
            found = replace(found, step=step, holes=holes, notes=told)
        twice = f"{self.repeated} duplicate values, of which the {self._options.duplicates} counts"
        own = (twice,) if self.repeated else ()
        gaps = blanks or {}
        said = (f"{sum(gaps.values())} blank samples",) if gaps else ()
        self._header = replace(
            found, epoch=self._zero / SECOND if self._is_epoch else self._options.epoch,
            notes=(*notes, *own, *said, *found.notes), blanks=gaps,
        )  # fmt: skip
        return self

    def _step(self) -> float | None:
        """The usual distance within a series: of several series each is sampled at times of its own."""
        gaps: Counter[int] = Counter()
        for times, _ in self._series.values():
            gaps.update(round((after - before) / 1e6) for before, after in pairwise(times[:MAX_GAPS_A_SERIES]))
        return min(gaps, key=lambda gap: (-gaps[gap], gap)) / 1000 if gaps else None

    @property
    def header(self) -> TraceHeader:
        """What is in it."""
        if self._header is None:
            return self.close().header
        return self._header

    def samples(self) -> Iterator[TraceSample]:
        """All samples, in the order of time and then as the file has the series."""
        merged = heapq.merge(*(self._of(key) for key in self._series), key=lambda sample: sample.time)
        return iter(merged)

    def _of(self, key: tuple[str, Labels]) -> Iterator[TraceSample]:
        name, labels = key
        for time, value in zip(*self._series[key], strict=True):
            yield TraceSample((time - self._zero) / SECOND, name, value, labels)
