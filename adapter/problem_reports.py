"""How problems are shown to people: as text with the line they stand in.

A file's own text reaches a terminal or a CI log here, so control characters are replaced before it does. What a problem
is, and the forms that machines read, stand in the core.
"""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.text import Text

from adapter.core.problems import Problem, Severity

MAX_EXCERPT = 120
MAX_MARGIN = 40
"""Characters of a long line that are shown before the column."""

_COLOURS = {Severity.ERROR: "bold red", Severity.WARNING: "bold yellow"}


def as_text(problem: Problem, lines: Sequence[str]) -> Text:
    """The problem in words, the line it is in with a caret under the column, and the fix."""
    position = problem.position
    shown = Text()
    shown.append(f"{printable(problem.file)}:{position.line}:{position.column}: ", "bold")
    shown.append(f"{problem.severity}: ", _COLOURS[problem.severity])
    shown.append(f"{printable(problem.message)} ")
    shown.append(f"[{problem.code}]", "dim")
    if 1 <= position.line <= len(lines):
        _append_excerpt(shown, lines[position.line - 1], position.line, position.column, _COLOURS[problem.severity])
    if problem.fix:
        shown.append("\n    fix: ", "green")
        shown.append(printable(problem.fix))
    return shown


def _append_excerpt(shown: Text, line: str, number: int, column: int, colour: str) -> None:
    text = printable(line.rstrip())
    start = max(0, column - 1 - MAX_MARGIN) if len(text) > MAX_EXCERPT else 0
    part = text[start : start + MAX_EXCERPT]
    before, after = "…" if start else "", "…" if start + MAX_EXCERPT < len(text) else ""
    gutter = f"{number:>7} | "
    shown.append(f"\n{gutter}", "dim")
    shown.append(f"{before}{part}{after}")
    shown.append(f"\n{' ' * (len(gutter) - 2)}| ", "dim")
    width = cell_len(before + text[start : column - 1])  # a wide character takes two columns of a terminal
    shown.append(" " * width + "^", colour)


def printable(text: str) -> str:
    """The text with blanks for tabs and a sign for every other character that a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() else " " if one == "\t" else "\N{REPLACEMENT CHARACTER}" for one in text)
