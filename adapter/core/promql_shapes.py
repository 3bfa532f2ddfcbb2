"""Shapes of PromQL that mislead: what an own query does to missing data, to counters and to idle times.

Pure reading of a parsed query; what follows from a shape is the business of the lints.
"""

import re
from collections.abc import Collection
from functools import lru_cache

import promql_parser as promql

RATES = ("rate", "irate", "increase")


MAX_PARTS = 100
MAX_SIGNS = 40
"""Operators and brackets up to which a query is looked at. Reading a part copies all below it, so that 2000 signs in a
row took two seconds; what is longer is asked as it stands, without lints."""

_SIGNS = re.compile(r"[-+*/%^(]")


@lru_cache(maxsize=256)
def parts(query: str) -> tuple[promql.Expr, ...]:
    """The query's expression and what is in it; the query has been parsed before."""
    if len(_SIGNS.findall(query)) > MAX_SIGNS:
        return ()
    return tuple(_within(promql.parse(query)))


def _within(expression: promql.Expr) -> list[promql.Expr]:
    """An expression and everything in it, without recursion: a thousand signs in a row are nested as deep."""
    found: list[promql.Expr] = []
    rest = [expression]
    while rest and len(found) < MAX_PARTS:
        one = rest.pop()
        found.append(one)
        match one:
            case promql.BinaryExpr():
                rest += [one.lhs, one.rhs]
            case promql.Call():
                rest += one.args
            case promql.MatrixSelector():
                rest.append(one.vector_selector)
            case promql.AggregateExpr() | promql.ParenExpr() | promql.UnaryExpr() | promql.SubqueryExpr():
                rest.append(one.expr)
    return found


def metrics(query: str) -> list[str]:
    """The names of the metrics that a query reads."""
    return [one.name for one in parts(query) if isinstance(one, promql.VectorSelector) and one.name]


def calls(query: str) -> set[str]:
    """The names of the functions that a query calls."""
    return {one.func.name for one in parts(query) if isinstance(one, promql.Call)}


def has_number(query: str) -> bool:
    """Whether a query has a number, which may convert a unit."""
    return any(isinstance(one, promql.NumberLiteral) for one in parts(query))


def fills_with_zero(query: str) -> bool:
    """Whether `or vector(0)` stands in for what is missing."""
    return any(
        isinstance(one, promql.BinaryExpr) and str(one.op) == "or" and "vector" in _calls_of(one.rhs)
        for one in parts(query)
    )


def divides_rates(query: str) -> bool:
    """Whether a rate divides, which is 0 ÷ 0 when nothing happens."""
    return any(
        isinstance(one, promql.BinaryExpr) and str(one.op) == "/" and bool(_calls_of(one.rhs) & set(RATES))
        for one in parts(query)
    )


def rates_a_sum(query: str) -> bool:
    """Whether a rate is taken of an aggregate, in which a restart looks like traffic."""
    return any(
        isinstance(one, promql.Call)
        and one.func.name in RATES
        and any(isinstance(inner, promql.AggregateExpr) for argument in one.args for inner in _within(argument))
        for one in parts(query)
    )


def adds_up_without(query: str, labels: Collection[str]) -> bool:
    """Whether series are added or averaged, and no aggregate in the query keeps one of the labels apart."""
    aggregates = [one for one in parts(query) if isinstance(one, promql.AggregateExpr)]
    keeps = any(
        one.modifier is not None
        and str(one.modifier.type).endswith("By")
        and any(label in labels for label in one.modifier.labels)
        for one in aggregates
    )
    return not keeps and any(str(one.op) in ("sum", "avg") for one in aggregates)


def _calls_of(expression: promql.Expr) -> set[str]:
    return {one.func.name for one in _within(expression) if isinstance(one, promql.Call)}
