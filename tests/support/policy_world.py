"""A policy and the samples it would read, for tests of the core: no server, no clock.

`World` answers a policy's queries from a list of series by evaluating the selectors' matchers, as Prometheus would.
"""

import re
from collections.abc import Iterable, Mapping

import promql_parser

from adapter.bundled import load_presets
from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.reasons import Missing
from adapter.core.samples import Answer, Sample, Series, labels_of
from adapter.core.signals import GroupSignal, NoSignal, Signal
from adapter.core.ticks import Tick, read_tick

T = 1_800_000_000.0
"""The instant at which tests evaluate; a multiple of every grid they use."""

LIBRARY = load_presets()

HEAD = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: p, namespace: prod}
spec:
"""


def policy(spec: str) -> LoadedPolicy:
    """A policy from the body of its spec, indented by two blanks; it must be good."""
    loaded, problems = read_policies(HEAD + spec, "policy.yaml", LIBRARY)
    assert len(loaded) == 1, problems
    return loaded[0]


def one(metric: str, value: float, *, age: float = 1.0, at: float = T - 18, **labels: str) -> Series:
    """A series with one sample, `age` seconds old at the instant asked for."""
    return Series(labels_of({"__name__": metric, **labels}), (Sample(value, at - age),))


def many(metric: str, values: Iterable[tuple[float, float]], *, at: float = T - 18, **labels: str) -> Series:
    """A series from (age, value) pairs, oldest first."""
    return Series(labels_of({"__name__": metric, **labels}), tuple(Sample(value, at - age) for age, value in values))


def replicas(spec: float, ready: float, *names: str, deployment: str = "d", at: float = T - 18) -> list[Series]:
    """What kube-state-metrics says of a Deployment; names are its ready pods."""
    common = {"namespace": "prod", "deployment": deployment}
    return [
        one("kube_deployment_spec_replicas", spec, at=at, **common),
        one("kube_deployment_status_replicas_ready", ready, at=at, **common),
        *[one("kube_pod_status_ready", 1, at=at, namespace="prod", condition="true", pod=name) for name in names],
    ]


def answer_to(query: str, series: Iterable[Series]) -> Answer:
    """The series that the selector matches."""
    selector = promql_parser.parse(query)
    assert isinstance(selector, promql_parser.VectorSelector), query
    matchers = list(selector.matchers.matchers)
    found = []
    for candidate in series:
        if selector.name and candidate.label("__name__") != selector.name:
            continue
        if all(_matches(matcher, candidate) for matcher in matchers):
            found.append(Series(tuple(pair for pair in candidate.labels if pair[0] != "__name__"), candidate.samples))
    return Answer(tuple(found))


def _matches(matcher: promql_parser.Matcher, series: Series) -> bool:
    value = series.label(matcher.name)
    match str(matcher.op):
        case "MatchOp.Equal":
            return value == matcher.value
        case "MatchOp.NotEqual":
            return value != matcher.value
        case "MatchOp.Re":
            return re.fullmatch(matcher.value, value) is not None
        case other:
            raise AssertionError(other)


def tick(
    loaded: LoadedPolicy,
    series: Iterable[Series],
    *,
    t: float = T,
    failing: Mapping[str, Missing] | None = None,
    derived: Mapping[str, Answer] | None = None,
) -> Tick:
    """One tick read from the series; queries that contain a key of `failing` fail, derived ones are given whole."""
    members = list(series)
    answers = {}
    for query, is_raw in loaded.plan.queries:
        failure = next((missing for part, missing in (failing or {}).items() if part in query), None)
        if failure is not None:
            answers[query] = Answer(failure=failure)
        elif is_raw:
            answers[query] = answer_to(query, members)
        else:
            answers[query] = (derived or {}).get(query, Answer())
    return read_tick(loaded.plan, t, answers)


def outcomes(loaded: LoadedPolicy, *ticks: Tick) -> tuple[GroupSignal, ...]:
    """What the policy publishes at the last tick."""
    return evaluate(loaded.plan, loaded.rules, ticks)


def outcome(loaded: LoadedPolicy, *ticks: Tick) -> Signal | NoSignal:
    """What a policy of one group publishes at the last tick."""
    (group,) = outcomes(loaded, *ticks)
    return group.outcome


def served(loaded: LoadedPolicy, *ticks: Tick) -> str:
    """The value's text, or the reason in angle brackets."""
    result = outcome(loaded, *ticks)
    return result.text if isinstance(result, Signal) else f"<{result.missing.reason}>"
