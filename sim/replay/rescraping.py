"""Rescraping: a trace as scrapes at an own interval would have seen it.

At each scrape the newest value of every series counts, at most 1.5 of the trace's steps old: a row that is not there
is not made up. With `fill` it may be as old as that: forward fill, asked for, with a limit.
"""

from collections.abc import Iterator
from dataclasses import replace

from adapter.core.samples import Labels
from sim.traces.trace import HOLE_STEPS, Trace, TraceHeader, TraceSample

MAX_SERIES = 100_000


class Rescraped:
    """Another trace, sampled anew."""

    def __init__(self, trace: Trace, interval: float, phase: float, fill: float | None) -> None:
        self._trace, self._interval, self._phase = trace, interval, phase
        header = trace.header
        self._life = fill if fill is not None else HOLE_STEPS * (header.step or interval)
        filled = f"filled forward for at most {fill:g} s" if fill is not None else "nothing filled"
        self._header = replace(header, notes=(*header.notes, f"scraped anew every {interval:g} s, {filled}"))

    @property
    def header(self) -> TraceHeader:
        """That of the trace, with a note."""
        return self._header

    def samples(self) -> Iterator[TraceSample]:
        """A sample of every series at each scrape, until the trace's last row."""
        newest: dict[tuple[str, Labels], TraceSample] = {}
        rows = self._trace.samples()
        following = next(rows, None)
        start, end = self._header.start, self._header.end
        index = -((self._phase - start) // self._interval)
        while (at := self._phase + index * self._interval) <= end:
            while following is not None and following.time <= at:
                newest[following.input, following.labels] = following
                following = next(rows, None)
            for key, sample in list(newest.items()):
                if at - sample.time > self._life:
                    del newest[key]
                else:
                    yield sample._replace(time=at)
            index += 1
