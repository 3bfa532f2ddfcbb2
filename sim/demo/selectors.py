"""Selectors: the part of PromQL that the demonstration's endpoint answers, `name{matchers}` with or without a range.

Prometheus' own grammar is parsed whole, so a mistake is told as such and what is merely not evaluated here is told
apart. Regular expressions have passed the parser's RE2-like check, and are anchored.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import promql_parser

from sim.demo.exposition import Labels


class QueryMistake(ValueError):
    """The text is no PromQL: Prometheus' bad_data."""


class NotEvaluated(ValueError):
    """Good PromQL that needs a real Prometheus."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric name, tests of labels, and the range in seconds (None: the newest sample)."""

    name: str
    tests: tuple[tuple[str, Callable[[str], bool]], ...]
    seconds: float | None

    def matches(self, labels: Labels) -> bool:
        """Whether the labels pass; a label that is absent counts as empty."""
        values = dict(labels)
        return all(test(values.get(name, "")) for name, test in self.tests)


def parse_selector(text: str) -> Selector:
    """The selector in the text; QueryMistake or NotEvaluated say why there is none."""
    try:
        expression = promql_parser.parse(text)
    except ValueError as error:
        raise QueryMistake(f'invalid parameter "query": {error}') from error
    seconds = None
    if isinstance(expression, promql_parser.MatrixSelector):
        seconds = expression.range.total_seconds()
        expression = expression.vector_selector
    if not isinstance(expression, promql_parser.VectorSelector):
        raise NotEvaluated('the demonstration answers plain selectors only, such as up{job="x"} or up[1m]')
    if expression.offset is not None or expression.at is not None or expression.matchers.or_matchers:
        raise NotEvaluated("the demonstration evaluates neither offset nor @ nor `or` between matchers")
    if expression.name is None:
        raise NotEvaluated("the demonstration needs a metric name before the matchers")
    tests = tuple((one.name, _test(one.op, one.value)) for one in expression.matchers.matchers)
    return Selector(expression.name, tests, seconds)


def _test(operator: promql_parser.MatchOp, value: str) -> Callable[[str], bool]:
    if operator == promql_parser.MatchOp.Equal:
        return lambda found: found == value
    if operator == promql_parser.MatchOp.NotEqual:
        return lambda found: found != value
    try:
        pattern = re.compile(value)
    except re.error as error:
        raise NotEvaluated(f"the demonstration cannot evaluate the regular expression {value}: {error}") from error
    if operator == promql_parser.MatchOp.Re:
        return lambda found: pattern.fullmatch(found) is not None
    return lambda found: pattern.fullmatch(found) is None


def as_metric(name: str, labels: Labels) -> Mapping[str, str]:
    """The labels as Prometheus answers them, its name included."""
    return {"__name__": name, **dict(labels)}
