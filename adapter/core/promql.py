"""Texts of PromQL: selectors from metric names and matchers, and what kind of query a text is.

A raw query is a plain selector: it is asked with a range, so that its samples carry their own time. Any other query is
derived: the server computes it, and its answer's time is the time of evaluation.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

import promql_parser

MAX_QUERY_CHARACTERS = 4000
_SPECIAL = re.compile(r"[^a-zA-Z0-9_\-\x80-\U0010ffff]")
MAX_SIGNS = 500
"""Operators in a query; the parser's time grows with the square of their depth, 2 s for 4000 in a row."""

_SIGNS = re.compile(r"[-+*/%^]")


class QueryKind(StrEnum):
    """How a query is asked: a raw selector gets a range added, a derived query is asked as it stands."""

    SELECTOR = "selector"
    DERIVED = "derived"


def kind_of(query: str) -> QueryKind:
    """What kind of query the text is; ValueError with the parser's words where it is no PromQL."""
    signs = len(_SIGNS.findall(query))
    if len(query) > MAX_QUERY_CHARACTERS or query.count("(") > 100 or signs > MAX_SIGNS:
        message = f"the query has more than {MAX_QUERY_CHARACTERS} characters, 100 brackets or {MAX_SIGNS} signs"
        raise ValueError(message)
    try:
        expression = promql_parser.parse(query)
    except ValueError as error:
        raise ValueError(f"not valid PromQL: {error}") from error
    if isinstance(expression, promql_parser.VectorSelector) and expression.offset is None and expression.at is None:
        return QueryKind.SELECTOR
    if isinstance(expression, promql_parser.MatrixSelector):
        raise ValueError("the query is a range selector; write it without the range, which is added when it is asked")
    return QueryKind.DERIVED


def selector(metric: str, matchers: Mapping[str, str]) -> str:
    """A selector; a value that starts with `~` is an anchored regular expression, others are equality."""
    inner = ",".join(_matcher(label, value) for label, value in matchers.items())
    return f"{metric}{{{inner}}}" if inner else metric


def _matcher(label: str, value: str) -> str:
    if value.startswith("~"):
        return f"{label}=~{quoted(value[1:])}"
    if value.startswith("!"):
        return f"{label}!={quoted(value[1:])}"
    return f"{label}={quoted(value)}"


def quoted(text: str) -> str:
    """A PromQL string literal."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def literal(text: str) -> str:
    """The text as a regular expression (RE2) that matches just it; RE2 refuses to escape what is not ASCII."""
    return _SPECIAL.sub(lambda found: "\\" + found.group(), text)


def with_range(query: str, seconds: float) -> str:
    """The selector over the last seconds, in whole milliseconds."""
    milliseconds = round(seconds * 1000)
    span = f"{milliseconds // 1000}s" if milliseconds % 1000 == 0 else f"{milliseconds}ms"
    # A comment would swallow what stands behind it on its line.
    return f"{query}\n[{span}]" if "#" in query else f"{query}[{span}]"
