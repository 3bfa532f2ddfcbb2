"""Tenancy: a query made to read the series of one namespace alone, whatever it says.

Every selector of the parsed query must be confined by a matcher on a label that tells the namespace; one that is not
gets it. Only the parsed query is trusted: a matcher that is pasted into the text can be quoted, commented or bracketed
away. The text that comes out is parsed once more and every selector looked at. Knows no source and no server.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

import promql_parser

from adapter.core import promql

DEFAULT_LABELS = ("namespace", "exported_namespace", "kube_namespace")
ANY = "*"

_IDENTIFIER = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
# promql_parser reads these bytes as characters of that number, so that the text it writes would mean another string.
_BYTES = re.compile(r"\\x[89a-fA-F]|\\[23][0-7]{2}")
_BEFORE_EPOCH = re.compile(r"@\s*-")
_PARTS = re.compile(r"[-+*/%^(<>]|[=!]=|\b(?:and|or|unless|atan2)\b")
MAX_PARTS = 100
"""Operators and brackets of a query that can be confined. Visiting a part copies all below it: 0.2 s for 100 in a row,
134 s for 500."""

_OPERATORS = {"MatchOp.Equal": "=", "MatchOp.NotEqual": "!=", "MatchOp.Re": "=~", "MatchOp.NotRe": "!~"}


class TenancyMode(StrEnum):
    """How far policies are held to their own namespace."""

    OWN = "own"
    OWN_OR_UNLABELLED = "own-or-unlabelled"
    OFF = "off"


class OtherNamespace(ValueError):
    """The query asks for a namespace that its policy may not read."""


class NotConfinable(ValueError):
    """The query cannot be held to a namespace for certain."""


@dataclass(frozen=True, slots=True)
class Confinement:
    """What the queries of one policy may read: its own namespace, others that it names, and what carries none.

    The first label is the one that every series has from its scrape; the others tell the workload's namespace where an
    exporter speaks of pods that are not its own, and count where a query names them.
    """

    own: str
    others: frozenset[str] = frozenset()
    labels: tuple[str, ...] = DEFAULT_LABELS
    unlabelled: bool = True

    @property
    def allowed(self) -> frozenset[str]:
        return self.others | {self.own}


def confined(query: str, to: Confinement) -> str:
    """The query with every selector confined; the text itself where all are. OtherNamespace or NotConfinable."""
    promql.kind_of(query)
    if len(_PARTS.findall(query)) > MAX_PARTS:
        raise NotConfinable(f"a query of more than {MAX_PARTS} operators and brackets is not taken apart; make it two")
    expression = promql_parser.parse(query)
    selectors = _selectors(expression)
    if all(_missing(one, to) is None for one in selectors):
        return query
    if _BYTES.search(query) or _BEFORE_EPOCH.search(query):
        raise NotConfinable("an escape of a single byte or a time before 1970 cannot be written back as it was")

    def visit(node: promql_parser.Expr) -> promql_parser.Expr | None:
        return _confine(node, to) if isinstance(node, promql_parser.VectorSelector) else None

    text = promql_parser.transform(expression, None, visit).prettify()
    _verify(text, len(selectors), to)
    return text


def _verify(text: str, count: int, to: Confinement) -> None:
    """What will be sent is read once more, so that no fault of the rewriting can open it."""
    try:
        found = _selectors(promql_parser.parse(text))
        is_confined = len(found) == count and all(_missing(one, to) is None for one in found)
    except ValueError:
        is_confined = False
    if not is_confined:
        raise NotConfinable("the query cannot be written with its namespace for certain")


def _selectors(expression: promql_parser.Expr) -> list[promql_parser.VectorSelector]:
    found: list[promql_parser.VectorSelector] = []

    def visit(node: promql_parser.Expr) -> bool:
        if isinstance(node, promql_parser.VectorSelector):
            found.append(node)
        elif isinstance(node, promql_parser.Call) and node.func.name == "info":
            raise NotConfinable("info() reads series that no selector of the query names")
        return True

    promql_parser.walk(expression, visit)
    return found


_Triple = tuple[str, str, str]
"""A matcher: label, operator, value."""


def _missing(selector: promql_parser.VectorSelector, to: Confinement) -> _Triple | None:
    """The matcher that a selector lacks to be confined; None if it lacks nothing. OtherNamespace if it asks beyond."""
    if selector.matchers.or_matchers:
        raise NotConfinable("matchers joined by `or` are not read by every server")
    named: set[str] = set()
    confining: set[str] = set()
    present: set[str] = set()
    for matcher in selector.matchers.matchers:
        if matcher.name not in to.labels:
            continue
        values = _values(matcher, to)
        if any(values):
            confining.add(matcher.name)
        if "" not in values:
            present.add(matcher.name)
        if any(values) or not values:
            named.add(matcher.name)
    first = to.labels[0]
    label = next((one for one in to.labels if one in named), first)
    # A series without the first label is nobody's; one without another label may be anybody's, so that must be there.
    may_be_absent = to.unlabelled and label == first
    if label not in confining:
        return (label, "=~", f"{to.own}|") if may_be_absent else (label, "=", to.own)
    return None if may_be_absent or label in present else (label, "!=", "")


def _values(matcher: promql_parser.Matcher, to: Confinement) -> list[str]:
    """The namespaces that a matcher on a label of the tenancy lets pass; none where it says that there must be one."""
    operator = _OPERATORS[str(matcher.op)]
    if operator == "!=" and matcher.value == "":
        return []
    values = matcher.value.split("|") if operator == "=~" else [matcher.value]
    may_be_absent = to.unlabelled or matcher.name != to.labels[0] or operator == "=~"
    beyond = [one for one in values if one not in to.allowed and not (one == "" and may_be_absent)]
    if operator in ("!=", "!~") or beyond:
        shown = f"{matcher.name}{operator}{promql.quoted(matcher.value)}"
        raise OtherNamespace(
            f"{shown} may read beyond {_listed(to)}; the namespaces that are meant must be named one by one"
        )
    return values


def _listed(to: Confinement) -> str:
    others = sorted(to.others)
    return f"the namespace {to.own}" if not others else f"the namespaces {', '.join([to.own, *others])}"


def _confine(selector: promql_parser.VectorSelector, to: Confinement) -> promql_parser.Expr | None:
    missing = _missing(selector, to)
    if missing is None:
        return None
    matchers = [(one.name, _OPERATORS[str(one.op)], one.value) for one in selector.matchers.matchers]
    plain = promql_parser.parse(_written(selector.name, matchers)).prettify()
    whole = selector.prettify()
    if not whole.startswith(plain):
        raise NotConfinable("a selector of the query cannot be written back as it was")
    # What follows are offset and @, which stay as they are.
    return promql_parser.parse(_written(selector.name, [*matchers, missing]) + whole[len(plain) :])


def _written(name: str | None, matchers: Iterable[_Triple]) -> str:
    inner = ",".join(f"{_label(label)}{operator}{promql.quoted(value)}" for label, operator, value in matchers)
    return f"{name or ''}{{{inner}}}" if inner else name or ""


def _label(name: str) -> str:
    return name if _IDENTIFIER.fullmatch(name) else promql.quoted(name)
