"""Histories: what each signal was in the last hour, and when it last changed. Bounded; no signal is ever made from it.

Numbers stand in arrays of doubles, five to a point and a byte for the reason: 41 bytes, 9.8 KB for the 240 points of a
signal, 10 MB for the thousand signals that have one. Of the ticks within 15 s the newest stays, so that a policy that
is evaluated each second has a point every 15 s; changes are noticed at every tick. Knows no clock: a tick brings its
time.
"""

from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf, isnan, nan

from adapter.core.headlines import Asked, asked
from adapter.core.reasons import Reason
from adapter.core.signals import GroupSignal, NoSignal, Signal, finite_or_none

SPAN_SECONDS = 3600.0
STEP_SECONDS = 15.0
MAX_POINTS = int(SPAN_SECONDS / STEP_SECONDS)
MAX_CHANGES = 20
MAX_SIGNALS = 1000
MAX_WORDS = 200
"""Characters of a change's cause that are kept; an error of Prometheus can be long."""

_REASONS = tuple(Reason)
PolicyKey = tuple[str, str]
Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Change:
    """A tick at which the replicas asked for, the reason for having none, or what decides became another."""

    t: float
    before: int | None
    after: int | None
    reason: str | None
    decided_by: str
    is_first: bool = False
    is_of_value: bool = True

    def as_data(self) -> dict[str, object]:
        """Plain data for JSON: replicas asked for before and after, null where there was no value."""
        return {
            "t": self.t,
            "before": self.before,
            "after": self.after,
            "first": self.is_first,
            "reason": self.reason,
            "decided_by": self.decided_by,
        }


class SignalHistory:
    """The points and changes of one signal, oldest first."""

    def __init__(self) -> None:
        self._times, self._values = array("d"), array("d")
        self._n, self._up, self._down = array("d"), array("d"), array("d")
        self._reasons = array("b")  # -1 is none
        self._last: Asked | None = None
        self.changes: deque[Change] = deque(maxlen=MAX_CHANGES)

    @property
    def newest(self) -> float:
        """The time of the last tick; before every time where there is none."""
        return self._times[-1] if self._times else -inf

    @property
    def kept_bytes(self) -> int:
        """What the points take."""
        return sum(len(one) * one.itemsize for one in self._columns)

    @property
    def _columns(self) -> tuple["array[float] | array[int]", ...]:
        return (self._times, self._values, self._n, self._up, self._down, self._reasons)

    def record(self, t: float, outcome: Signal | NoSignal, published_as: str) -> None:
        """Take in the outcome of a tick. One that is not later than the last (the clock was set back) replaces it."""
        times, step = self._times, t // STEP_SECONDS
        while times and times[-1] // STEP_SECONDS >= step:
            self._delete(len(times) - 1)
        while times and (len(times) >= MAX_POINTS or times[0] <= t - SPAN_SECONDS):
            self._delete(0)
        why = outcome.why
        value = outcome.value_milli / 1000 if isinstance(outcome, Signal) else nan
        reason = _REASONS.index(outcome.missing.reason) if isinstance(outcome, NoSignal) else -1
        self._times.append(t)
        self._values.append(value)
        self._n.append(nan if why is None or why.n is None else why.n)
        self._up.append(nan if why is None or why.up is None else why.up)
        self._down.append(nan if why is None else inf if why.down is None else why.down)
        self._reasons.append(reason)
        self._notice(t, asked(outcome, published_as))

    def _delete(self, place: int) -> None:
        for column in self._columns:
            del column[place]

    def _notice(self, t: float, now: Asked) -> None:
        before, self._last = self._last, now
        reason = now.missing.reason if now.missing is not None else None
        is_of_value = True
        if before is not None:
            was = before.missing.reason if before.missing is not None else None
            is_of_value = (before.replicas, was) != (now.replicas, reason)
            if not is_of_value and before.decider == now.decider:
                return
            # Two terms that take turns without moving a replica would push everything else out.
            if not is_of_value and not self.changes[-1].is_of_value:
                self.changes.pop()
        cause = now.decided_by if now.missing is None else f"{now.missing.reason}: {now.missing.message}"
        was_asked = before.replicas if before is not None else None
        change = Change(t, was_asked, now.replicas, reason, cause[:MAX_WORDS], before is None, is_of_value)
        self.changes.append(change)

    def as_data(self) -> dict[str, object]:
        """Columns for JSON. `down` is null where nothing bounds it, as in an account, and where nothing is known."""
        return {
            "step_seconds": STEP_SECONDS,
            "t": list(self._times),
            "value": _known(self._values),
            "n": _known(self._n),
            "up": _known(self._up),
            "down": _known(self._down),
            "reason": [None if index < 0 else _REASONS[index] for index in self._reasons],
        }


class Histories:
    """The histories of all signals, by policy and labels; signals beyond the bound have none."""

    def __init__(self, max_signals: int = MAX_SIGNALS) -> None:
        self._max_signals = max_signals
        self._of: dict[PolicyKey, dict[Labels, SignalHistory]] = {}
        self._count = 0

    def record(self, policy: PolicyKey, t: float, published_as: str, groups: Sequence[GroupSignal]) -> None:
        """Take in what a policy published at a tick; a group that was not seen for the whole span is forgotten."""
        known = self._of.setdefault(policy, {})
        for group in groups:
            key = labels_key(group.labels)
            history = known.get(key)
            if history is None:
                if self._count >= self._max_signals:
                    continue
                history = known[key] = SignalHistory()
                self._count += 1
            history.record(t, group.outcome, published_as)
        if len(known) > len(groups):
            for key in [one for one, history in known.items() if history.newest <= t - SPAN_SECONDS]:
                del known[key]
                self._count -= 1

    def keep(self, policies: Iterable[PolicyKey]) -> None:
        """Forget every other policy; one that changed keeps what it was before."""
        wanted = set(policies)
        for policy in [one for one in self._of if one not in wanted]:
            self._count -= len(self._of.pop(policy))

    def of(self, policy: PolicyKey, labels: Mapping[str, str]) -> SignalHistory | None:
        """The history of one signal, if it has one."""
        return self._of.get(policy, {}).get(labels_key(labels))


def labels_key(labels: Mapping[str, str]) -> Labels:
    """Labels as a key, whatever their order."""
    return tuple(sorted(labels.items()))


def _known(column: "array[float]") -> list[float | None]:
    return [None if isnan(value) else finite_or_none(value) for value in column]
