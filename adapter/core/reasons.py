"""Why a signal is missing: the closed list that answers, logs, counters and explanations share.

The words are an interface (dashboards and alerts match them), so one is only ever added.
"""

from dataclasses import dataclass
from enum import StrEnum


class Reason(StrEnum):
    """One word for one cause of a missing input or signal."""

    STARTING = "starting"
    EMPTY = "empty"
    STALE = "stale"
    NOT_A_NUMBER = "not-a-number"
    INFINITE = "infinite"
    NEGATIVE = "negative"
    TOO_LARGE = "too-large"
    SENTINEL = "sentinel"
    DUPLICATE_SERIES = "duplicate-series"
    UPSTREAM_ERROR = "upstream-error"
    UPSTREAM_TIMEOUT = "upstream-timeout"
    UPSTREAM_REJECTED = "upstream-rejected"
    PARTIAL = "partial"
    NO_REPLICAS = "no-replicas"


@dataclass(frozen=True, slots=True)
class Missing:
    """A cause with its words: `message` names the input, the pods or the server, and the number that was wrong."""

    reason: Reason
    message: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"
