"""Problems: what is wrong with a file, where, and how to put it right.

A problem is data, found by pure code and shown by a command. It knows nothing about terminals or JSON documents.
"""

from dataclasses import dataclass
from enum import StrEnum

MAX_CHARACTERS = 2000


class Severity(StrEnum):
    """How bad a problem is: an error refuses the document, a warning does not."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text file; line and column are 1-based."""

    line: int = 1
    column: int = 1


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in one file: `message` says what and the allowed range, `fix` what to do about it."""

    file: str
    position: Position
    code: str
    message: str
    fix: str = ""
    severity: Severity = Severity.ERROR

    def __post_init__(self) -> None:
        for name in ("message", "fix"):
            text = getattr(self, name)
            if len(text) > MAX_CHARACTERS:  # a file may hold a name of a million letters; a log line may not
                object.__setattr__(self, name, text[: MAX_CHARACTERS - 1] + "…")

    def __str__(self) -> str:
        where = f"{self.file}:{self.position.line}:{self.position.column}"
        text = f"{where}: {self.severity}: {self.message} [{self.code}]"
        return f"{text}\n    fix: {self.fix}" if self.fix else text


def has_errors(problems: list[Problem]) -> bool:
    """Whether one of the problems refuses its document."""
    return any(problem.severity is Severity.ERROR for problem in problems)
