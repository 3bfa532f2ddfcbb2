"""The circuit of a source: while all that is asked fails, hardly anything is asked.

Opens after several failures in a row, and only if nothing that the source was asked lately went well, so that one
policy's hopeless query never bars the others. While it is open a question costs nothing and fails with the reason of
the last failure. Now and then the next questions are let through as probes, each a different one, while the others wait
for what comes of them; the first that goes well closes it. Pure but for the clock that it is given.
"""

from collections import OrderedDict
from collections.abc import Callable
from enum import Enum, auto

from adapter.core.reasons import Missing, Reason

FAILURES = 5
GOOD_SECONDS = 120.0
"""A question that went well within this time keeps the circuit closed, whatever else fails."""

FIRST_PAUSE_SECONDS = 1.0
LONGEST_PAUSE_SECONDS = 10.0
"""Below the usual grid of 15 s, so that a source that is back is seen at the next tick."""

PROBES = 4
MAX_GOOD = 10_000

_FAILURES_OF_THE_SOURCE = (Reason.UPSTREAM_ERROR, Reason.UPSTREAM_TIMEOUT)


class Gate(Enum):
    """What a question may do."""

    ASK = auto()
    PROBE = auto()
    WAIT = auto()
    REFUSED = auto()


class Circuit:
    """One source's circuit; `now` is a clock that never goes back."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._good: OrderedDict[str, float] = OrderedDict()
        self._in_a_row = 0
        self._last = Missing(Reason.UPSTREAM_ERROR, "nothing has been asked")
        self._pause = 0.0
        self._open_until: float | None = None
        self._probing: set[str] = set()
        self._probed: set[str] = set()

    @property
    def is_open(self) -> bool:
        return self._open_until is not None

    def gate(self, question: str) -> Gate:
        """What a question may do now; one that is told PROBE counts as under way until it is recorded."""
        if self._open_until is None:
            return Gate.ASK
        if self._now() < self._open_until:
            return Gate.REFUSED
        if question in self._probing or len(self._probing) >= PROBES:
            return Gate.WAIT
        if question in self._probed and self._probing:
            return Gate.WAIT
        self._probing.add(question)
        return Gate.PROBE

    def refusal(self) -> Missing:
        """Why nothing is asked now, with the reason of the last failure."""
        rest = max(0.0, (self._open_until or 0.0) - self._now())
        words = f"not asked for {rest:.1f} s after {self._in_a_row} failures in a row (circuit open)"
        return Missing(self._last.reason, f"{words}: {self._last.message}")

    def record(self, question: str, failure: Missing | None) -> None:
        """Take note of what came of a question that was asked."""
        was_probe = question in self._probing
        self._probing.discard(question)
        if failure is None or failure.reason not in _FAILURES_OF_THE_SOURCE:
            self._close(question)
            return
        self._good.pop(question, None)
        self._in_a_row += 1
        self._last = failure
        if was_probe:
            self._probed.add(question)
            if len(self._probed) > MAX_GOOD:
                self._probed.clear()
            if not self._probing:
                self._open()
        elif self._open_until is None and self._in_a_row >= FAILURES and not self._is_good_for_any():
            self._open()

    def let_go(self, question: str) -> None:
        """A question that was let through as a probe and came to nothing makes room for another."""
        self._probing.discard(question)

    def _close(self, question: str) -> None:
        self._good[question] = self._now()
        self._good.move_to_end(question)
        while len(self._good) > MAX_GOOD:
            self._good.popitem(last=False)
        self._in_a_row, self._pause, self._open_until = 0, 0.0, None
        self._probing.clear()
        self._probed.clear()

    def _open(self) -> None:
        self._pause = min(LONGEST_PAUSE_SECONDS, max(FIRST_PAUSE_SECONDS, 2 * self._pause))
        self._open_until = self._now() + self._pause

    def _is_good_for_any(self) -> bool:
        while self._good and next(iter(self._good.values())) < self._now() - GOOD_SECONDS:
            self._good.popitem(last=False)
        return bool(self._good)
