"""Faults: what goes wrong in a run, when, and for how long. Times are seconds on the trace's own clock.

Each kind is a frozen record; `Faults` answers the questions that the runner asks of all of them. What a fault means is
written where it is applied once: what befalls answers here, what befalls the controller, the adapter, the scale and
the pods in the runner. A run without faults pays nothing for them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import inf, nan

from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer, Sample, Series


class AnswerKind(StrEnum):
    """What becomes of the source's answers to the queries of an input."""

    OUTAGE = "outage"  # the source is down: every query fails
    EMPTY = "empty"  # it answers, and no series matches
    NAN = "nan"  # the newest sample of each series is not a number
    STALE = "stale"  # nothing has been scraped since the fault began
    SLOW = "slow"  # it answers so many seconds late; beyond the query's budget not at all
    ZERO = "outage-read-as-zero"  # fresh samples of 0, as from an exporter that fills in what it cannot read


@dataclass(frozen=True, slots=True)
class AnswerFault:
    """From `at` for `seconds`, of the inputs named or of all; `delay` is how late a slow source answers."""

    kind: AnswerKind
    at: float
    seconds: float
    inputs: frozenset[str] = frozenset()
    delay: float = inf

    def befalls(self, name: str, t: float) -> bool:
        """Whether a query of the input that is asked at t is hit."""
        return self.at <= t < self.at + self.seconds and (not self.inputs or name in self.inputs)


@dataclass(frozen=True, slots=True)
class ControllerRestart:
    """The HPA controller restarts: its memory is gone, the API object is not."""

    at: float


@dataclass(frozen=True, slots=True)
class AdapterRestart:
    """The adapter is gone from `at` for `seconds`; then it fetches its memory again and serves at its next tick."""

    at: float
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ScaleEdit:
    """Somebody else writes spec.replicas."""

    at: float
    replicas: int


@dataclass(frozen=True, slots=True)
class UnreadyPods:
    """So many of the pods that are ready are not, the oldest first; all of them where `pods` is None."""

    at: float
    seconds: float
    pods: int | None = None


@dataclass(frozen=True, slots=True)
class ScaleFails:
    """The scale subresource cannot be read, or not be written."""

    at: float
    seconds: float
    is_write: bool = False


Fault = AnswerFault | ControllerRestart | AdapterRestart | ScaleEdit | UnreadyPods | ScaleFails

SLOW_BUDGET_SECONDS = 10.0
"""What a query may take, as in the adapter: this, or the time between ticks if that is less."""


class Faults:
    """The faults of one run, by what they befall."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        self.all = tuple(faults)
        self.answers = tuple(one for one in self.all if isinstance(one, AnswerFault))
        self.adapter_restarts = tuple(one for one in self.all if isinstance(one, AdapterRestart))
        self._unready = tuple(one for one in self.all if isinstance(one, UnreadyPods))
        self._scale = tuple(one for one in self.all if isinstance(one, ScaleFails))
        self._instants = sorted(
            (one for one in self.all if isinstance(one, ControllerRestart | ScaleEdit)), key=lambda one: one.at
        )

    def alter(self, name: str, t: float, answer: Answer, zero: float, budget: float) -> Answer:
        """What the source answers at t for an input; `zero` is the trace's zero on the samples' clock."""
        for fault in self.answers:
            if fault.befalls(name, t):
                answer = _altered(fault, answer, fault.at + zero, budget)
        return answer

    def delay(self, t: float, budget: float) -> float:
        """How late the answers asked at t come, those within the budget."""
        slow = (one for one in self.answers if one.kind is AnswerKind.SLOW and one.at <= t < one.at + one.seconds)
        return max((one.delay for one in slow if one.delay <= budget), default=0.0)

    def is_adapter_down(self, t: float) -> bool:
        """Whether the adapter does not answer at t."""
        return any(one.at <= t < one.at + one.seconds for one in self.adapter_restarts)

    def adapter_restarted(self, after: float, until: float) -> bool:
        """Whether the adapter came up anew in (after, until]."""
        return any(after < one.at + one.seconds <= until for one in self.adapter_restarts)

    def due(self, after: float, until: float) -> list[ControllerRestart | ScaleEdit]:
        """What happens at instants in (after, until], in the order of time."""
        return [one for one in self._instants if after < one.at <= until]

    def unready(self, t: float) -> int:
        """How many ready pods are not ready because of a fault."""
        if not self._unready:
            return 0
        hit = [one for one in self._unready if one.at <= t < one.at + one.seconds]
        return max((2**31 if one.pods is None else one.pods for one in hit), default=0)

    def scale_fails(self, t: float) -> tuple[bool, bool]:
        """(reading the scale fails, writing it fails)."""
        hit = [one for one in self._scale if one.at <= t < one.at + one.seconds]
        return any(not one.is_write for one in hit), any(one.is_write for one in hit)


def _altered(fault: AnswerFault, answer: Answer, begin: float, budget: float) -> Answer:
    match fault.kind:
        case AnswerKind.OUTAGE:
            return Answer(failure=Missing(Reason.UPSTREAM_ERROR, "fault: the source is down"))
        case AnswerKind.EMPTY:
            return Answer()
        case AnswerKind.SLOW:
            if fault.delay <= budget:
                return answer
            message = f"fault: the source did not answer within {budget:g} s"
            return Answer(failure=Missing(Reason.UPSTREAM_TIMEOUT, message))
        case AnswerKind.STALE:
            cut = (Series(one.labels, tuple(s for s in one.samples if s.time < begin)) for one in answer.series)
            return Answer(tuple(one for one in cut if one.samples))
        case AnswerKind.NAN:
            return _newest_as(nan, answer, begin)
        case AnswerKind.ZERO:
            return _newest_as(0.0, answer, begin)


def _newest_as(value: float, answer: Answer, begin: float) -> Answer:
    """Every sample since the fault began has this value."""
    found = []
    for series in answer.series:
        samples = tuple(Sample(value, s.time) if s.time >= begin else s for s in series.samples)
        found.append(Series(series.labels, samples))
    return Answer(tuple(found))
