"""Problems in the forms that machines read: plain data for JSON, and GitHub's workflow commands."""

from collections.abc import Mapping

from adapter.core.lint_catalogue import CATALOGUE
from adapter.core.problems import Problem


def as_data(problem: Problem) -> Mapping[str, object]:
    """The problem for JSON."""
    return {
        "file": problem.file,
        "line": problem.position.line,
        "column": problem.position.column,
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "fix": problem.fix,
        "page": CATALOGUE[problem.code].page if problem.code in CATALOGUE else "",
    }


def as_github(problem: Problem) -> str:
    """The problem as a workflow command, which GitHub shows beside the line of a pull request."""
    message = f"{problem.message}\nfix: {problem.fix}" if problem.fix else problem.message
    place = {
        "file": problem.file,
        "line": str(problem.position.line),
        "col": str(problem.position.column),
        "title": problem.code,
    }
    properties = ",".join(f"{name}={_property(value)}" for name, value in place.items())
    return f"::{problem.severity} {properties}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
