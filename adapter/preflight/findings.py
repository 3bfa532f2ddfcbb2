"""What a check looked at, what it found, how that is judged, and what to do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

MAX_NAMES = 8


class Verdict(StrEnum):
    """How a finding is judged: `warn` works but not as well as it should, or could not be looked at."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One check's outcome."""

    check: str
    looked_at: str
    found: str
    verdict: Verdict
    fix: str = ""


def exit_status(findings: Sequence[Finding]) -> int:
    """1 if anything fails; a warning does not."""
    return 1 if any(one.verdict is Verdict.FAIL for one in findings) else 0


def listed(names: Sequence[str]) -> str:
    """The names, the first of them where there are many."""
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
