"""What Prometheus has now of what policies ask for: `check --prometheus`.

Asks whether each series of each input exists and has the labels that tell pods apart, and where nothing matches looks
for values that are nearly the same. One deadline holds for all questions; what is not answered in time is said so.
"""

import threading
from collections.abc import Iterator, Sequence
from difflib import get_close_matches

import promql_parser

from adapter.clock import now
from adapter.core.documents import Path
from adapter.core.input_plans import Alternative, InputPlan, SeriesPlan
from adapter.core.lint_catalogue import Group
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.problems import Position, Problem, Severity
from adapter.core.silencing import apply_silence
from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource

TOTAL_SECONDS = 30.0
QUESTION_SECONDS = 5.0
MAX_QUESTIONS = 2000


class _Unanswered(Exception):
    """A question that Prometheus did not answer; the message says why."""


class _Asker:
    """Asks questions, each once, within the time and the number that there are."""

    def __init__(self, source: PrometheusSource) -> None:
        self._source, self._whole = source, Deadline(TOTAL_SECONDS)
        self._answers: dict[str, list[dict[str, str]]] = {}

    def labels(self, query: str) -> list[dict[str, str]]:
        """The labels of every series that a query gives now."""
        if query not in self._answers:
            if self._whole.rest <= 0 or len(self._answers) >= MAX_QUESTIONS:
                raise _Unanswered(f"not all could be asked in {TOTAL_SECONDS:g} s and {MAX_QUESTIONS} questions")
            deadline = Deadline(min(QUESTION_SECONDS, self._whole.rest))
            timer = threading.Timer(deadline.seconds, deadline.end)  # a server that drips outlasts any read's time-out
            timer.daemon = True
            timer.start()
            try:
                answer = self._source.instant(query, now(), deadline)
            finally:
                timer.cancel()
            if answer.failure is not None:
                raise _Unanswered(answer.failure.message)
            self._answers[query] = [dict(series.labels) for series in answer.series]
        return self._answers[query]


def ask_prometheus(policies: Sequence[LoadedPolicy], url: str) -> list[Problem]:
    """Problems of the inputs of policies with what Prometheus has now."""
    source = PrometheusSource(url)
    try:
        asker = _Asker(source)
        problems = []
        for one in policies:
            found = [problem for name, plan in _inputs(one) for problem in _ask(asker, one, name, plan)]
            problems += apply_silence(found, one.policy, one.document, frozenset({Group.PROMETHEUS}))
        return problems
    except _Unanswered as error:
        fix = "see that the address is right and Prometheus is up, and check again"
        return [Problem(source.host, Position(), "prometheus-unanswered", str(error), fix)]
    finally:
        source.close()


def _inputs(one: LoadedPolicy) -> Iterator[tuple[Path, InputPlan]]:
    for name, plan in one.plan.inputs.items():
        if ":" not in name:  # an event or alert that guards bring along need not have happened
            yield ("spec", "inputs", name), plan
    if one.plan.replicas is not None:
        yield ("spec", "replicas"), one.plan.replicas.spec


def _ask(asker: _Asker, one: LoadedPolicy, path: Path, plan: InputPlan) -> Iterator[Problem]:
    for series in plan.series:
        if series.is_optional:
            continue
        found = [(alternative, asker.labels(_counted(alternative, plan))) for alternative in series.alternatives]
        answered = next(((alternative, labels) for alternative, labels in found if labels), None)
        if answered is None:
            yield _problem(one, path, "no-series", *_nothing(asker, series))
            continue
        alternative, labels = answered
        for label in plan.per:
            written = alternative.labels.get(label, label)
            if not any(row.get(written) for row in labels):
                message = f"the series of {alternative.query} have no label {written}, by which pods are told apart"
                yield _problem(one, path, "no-label", message, "write per: with the label that names the pod")


def _counted(alternative: Alternative, plan: InputPlan) -> str:
    labels = ", ".join(alternative.labels.get(label, label) for label in plan.per)
    return f"count by ({labels}) ({alternative.query})"


def _nothing(asker: _Asker, series: SeriesPlan) -> tuple[str, str]:
    """What was asked, and the values of its labels that are nearly what was wanted."""
    asked = " or ".join(alternative.query for alternative in series.alternatives)
    for alternative in series.alternatives:
        selector = promql_parser.parse(alternative.query)
        if not isinstance(selector, promql_parser.VectorSelector) or not selector.name:
            continue
        if not asker.labels(f"count({selector.name})"):
            continue
        for matcher in selector.matchers.matchers:
            values = [row.get(matcher.name, "") for row in asker.labels(f"count by ({matcher.name}) ({selector.name})")]
            if matcher.value in values or str(matcher.op) != "MatchOp.Equal":
                continue
            close = get_close_matches(matcher.value, values, n=1)
            there = f"did you mean {close[0]}?" if close else f"there are: {', '.join(sorted(values)[:5])}"
            message = f'nothing matches {asked} now: {matcher.name} is never "{matcher.value}"'
            return message, f"{matcher.name}: {there}"
        return f"nothing matches {asked} now, though {selector.name} exists", "loosen match until something is found"
    return f"nothing matches {asked} now: the metric does not exist", "see that the exporter runs and is scraped"


def _problem(one: LoadedPolicy, path: Path, code: str, message: str, fix: str) -> Problem:
    where = ".".join(str(step) for step in path)
    place = one.document.value_at(path)
    return Problem(one.document.file, place, code, f"{where}: {message}", fix, Severity.WARNING)
