"""Traces: recorded samples of a policy's inputs in the order of their time, as every reader of a trace gives them.

A trace is a header and samples that can be read again from the start, so that a replay holds only what its windows
reach back to, however long the trace is. Times are seconds on the trace's own clock; `epoch` says when its zero was.
Knows nothing of policies: that an input exists is the business of who plays the trace.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from adapter.core.samples import Labels

SIGNAL = "signal"
"""The pseudo-input that holds what was published, rather than what it was computed from."""

REPLICAS, READY = "replicas", "ready"
"""The pseudo-inputs that hold spec.replicas and the ready pods as they were recorded."""

MAX_HOLES = 1000
HOLE_STEPS = 1.5
"""Rows further apart than this many steps have a hole between them: one row at least is not there."""


class TraceError(ValueError):
    """A trace that cannot be used; the message says where and why."""


class TraceSample(NamedTuple):
    """One number: of an input by its name, or `INPUT.SERIES` for one series of a preset, e.g. `arrivals.completed`."""

    time: float
    input: str
    value: float
    labels: Labels = ()


class Hole(NamedTuple):
    """No row stands between these two times; `input` is "" where that holds for all."""

    start: float
    end: float
    input: str = ""


@dataclass(frozen=True, slots=True)
class TraceHeader:
    """What is known of a trace before it is played; times in seconds on its own clock."""

    inputs: tuple[str, ...]
    start: float
    end: float
    step: float | None = None
    """The usual distance between rows; None for a single row."""
    epoch: float | None = None
    """Epoch seconds of the trace's zero; None where nobody said."""
    source: str = "trace"
    notes: tuple[str, ...] = ()
    """What a reader has to say, e.g. "3 blank samples"."""
    blanks: Mapping[str, int] = field(default_factory=dict)
    """Empty cells by input."""
    holes: tuple[Hole, ...] = ()
    has_pods: bool = False
    """Whether samples are told apart by pods."""
    is_recording: bool = False
    """Whether samples are named by the queries that were asked, each at its own time."""


class Trace(Protocol):
    """A header and its samples, oldest first, which may be read more than once."""

    @property
    def header(self) -> TraceHeader:
        """What is known before the first sample is read."""
        ...

    def samples(self) -> Iterator[TraceSample]:
        """All samples from the start, in the order of their time."""
        ...


@dataclass(frozen=True, slots=True)
class HeldTrace:
    """A trace in memory, for short ones and tests."""

    header: TraceHeader
    held: tuple[TraceSample, ...]

    def samples(self) -> Iterator[TraceSample]:
        """All samples."""
        return iter(self.held)


def hold(samples: Iterable[TraceSample], source: str = "trace", epoch: float | None = None) -> HeldTrace:
    """A trace of samples in any order; TraceError where there is none."""
    held = tuple(sorted(samples, key=lambda sample: sample.time))
    if not held:
        raise TraceError(f"{source} has no sample")
    survey = Survey(source)
    for sample in held:
        survey.row(sample.time)
        survey.sample(sample.input, sample.labels)
    return HeldTrace(replace(survey.header(), epoch=epoch), held)


def holes_in(times: Iterable[float], step: float) -> tuple[Hole, ...]:
    """The holes between times that go up, where series sampled every `step` have times of their own each."""
    found: list[Hole] = []
    last: float | None = None
    for time in times:
        if last is not None and time - last > HOLE_STEPS * step and len(found) < MAX_HOLES:
            found.append(Hole(last, time))
        last = time
    return tuple(found)


class Survey:
    """Counts what a header tells while rows go by: bounded, however many there are."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._inputs: dict[str, None] = {}
        self._blanks: Counter[str] = Counter()
        self._gaps: Counter[float] = Counter()
        self._wide: list[Hole] = []
        self._dropped = 0
        self._start: float | None = None
        self._end = 0.0
        self._has_pods = False

    def row(self, time: float) -> None:
        """A row of this time, not before the last one."""
        if self._start is None:
            self._start = self._end = time
            return
        gap = round(time - self._end, 3)
        if gap <= 0:
            return
        if len(self._gaps) < MAX_HOLES or gap in self._gaps:
            self._gaps[gap] += 1
        if gap > HOLE_STEPS * min(self._gaps):
            if len(self._wide) < MAX_HOLES:
                self._wide.append(Hole(self._end, time))
            else:
                self._dropped += 1
        self._end = time

    def sample(self, name: str, labels: Labels = ()) -> None:
        """A sample of the last row."""
        self._inputs[name] = None
        self._has_pods = self._has_pods or any(label == "pod" and value for label, value in labels)

    def blank(self, name: str) -> None:
        """An empty cell of the last row."""
        self._inputs[name] = None
        self._blanks[name] += 1

    def header(self) -> TraceHeader:
        """The header of what went by; TraceError where nothing did."""
        if self._start is None:
            raise TraceError(f"{self._source} has no row")
        # The usual distance is the most frequent one, of equally frequent ones the smallest.
        step = min(self._gaps, key=lambda gap: (-self._gaps[gap], gap), default=None)
        holes = tuple(hole for hole in self._wide if step is not None and hole.end - hole.start > HOLE_STEPS * step)
        notes = []
        blanks = sum(self._blanks.values())
        if blanks:
            notes.append(f"{blanks} blank samples" if blanks > 1 else "1 blank sample")
        notes += [f"no row from {hole.start:g} s to {hole.end:g} s" for hole in holes[:10]]
        if len(holes) > 10 or self._dropped:
            notes.append(f"{len(holes) - 10 + self._dropped} further holes")
        return TraceHeader(
            inputs=tuple(self._inputs),
            start=self._start,
            end=self._end,
            step=step,
            source=self._source,
            notes=tuple(notes),
            blanks=dict(self._blanks),
            holes=holes,
            has_pods=self._has_pods,
        )
