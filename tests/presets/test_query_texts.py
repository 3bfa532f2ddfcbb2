"""Queries as Prometheus's own parser reads them: whatever a policy's match holds, its values are single matchers."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preset_samples import LIBRARY, plan_of
from prometheus_parser import Parser, Tree, prometheus_parser

from adapter.core import promql
from adapter.core.plans import PolicyPlan

pytestmark = pytest.mark.slow

# What could end a string, a matcher or a selector early, hide the rest of a line, or be an escape of its own.
HOSTILE = st.text(
    st.one_of(
        st.sampled_from(list("\"'`\\{}[]()\n\r\t,=~!#$|*+.?^/ \0\x7f-")), st.characters(exclude_categories=["Cs"])
    ),
    max_size=30,
)
LABELS = st.sampled_from(["model_name", "cluster", "_x", "le"])


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with prometheus_parser() as running:
        yield running


def trees(parser: Parser, plan: PolicyPlan, text: str = "") -> list[Tree]:
    """Every query of a plan as it would be sent."""
    return [parser.parse(plan.asked(query, is_raw), text) for query, is_raw in plan.queries]


def meant(value: str) -> tuple[str, str]:
    """What a value of a match says: a leading ~ is a regular expression, a leading ! excludes."""
    if value.startswith("~"):
        return "=~", value[1:]
    return ("!=", value[1:]) if value.startswith("!") else ("=", value)


BOUNDED = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@BOUNDED
@given(label=LABELS, value=HOSTILE.filter(lambda text: not text.startswith("~")))
def test_a_value_of_a_match_is_one_matcher_and_nothing_else(parser: Parser, label: str, value: str) -> None:
    plan = plan_of({"x": {"preset": "vllm/kv-cache-usage", "match": {label: value}}})
    found = trees(parser, plan)
    assert [(one.kind, one.range_ms) for one in found] == [("*parser.MatrixSelector", 120_000)] * 2
    assert [one.metric for one in found] == ["vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"]
    for one in found:
        assert one.triples() == [("namespace", "=~", "prod|"), (label, *meant(value))]


@BOUNDED
@given(value=HOSTILE.filter(lambda text: not text.startswith(("~", "!"))))
def test_every_place_of_a_pods_name_takes_it_as_one_matcher(parser: Parser, value: str) -> None:
    plan = plan_of({"x": {"preset": "dcgm/temperature", "match": {"pod": value}}})
    exported, plain = trees(parser, plan)
    assert exported.triples() == [("exported_namespace", "=~", "prod|"), ("exported_pod", "=", value)]
    assert plain.triples() == [("namespace", "=~", "prod|"), ("pod", "=", value), ("exported_pod", "=", "")]


@BOUNDED
@given(text=HOSTILE, other=HOSTILE)
def test_a_text_made_literal_is_a_regular_expression_of_just_itself(parser: Parser, text: str, other: str) -> None:
    query = promql.selector("m", {"a": f"~{promql.literal(text)}"})
    assert [one.accepts for one in parser.parse(query, text).matchers] == [True]
    assert [one.accepts for one in parser.parse(query, other).matchers] == [other == text]


@BOUNDED
@given(owner=HOSTILE.filter(lambda text: text != "" and not text.startswith(("~", "!"))))
def test_the_pods_of_a_workload_are_those_of_its_name_alone(parser: Parser, owner: str) -> None:
    replicas = {"preset": "kube/statefulset-replicas", "match": {"statefulset": owner}}
    plan = plan_of({"x": {"preset": "kube/pods-pending"}}, replicas)
    for pod, is_its_own in ((f"{owner}-0", True), (f"{owner}-12", True), (f"{owner}-a", False), (f"x{owner}-0", False)):
        (ready,) = [one for one in trees(parser, plan, pod) if one.metric == "kube_pod_status_ready"]
        assert [one.accepts for one in ready.matchers if one.name == "pod"] == [is_its_own]


@pytest.mark.parametrize("name", LIBRARY.names()[0])
def test_every_query_of_every_preset_is_a_selector_over_the_look_back(parser: Parser, name: str) -> None:
    plan = plan_of({"x": {"preset": name, "match": {"cluster": 'a"}\n{'}}})
    preset = LIBRARY.input(name)
    assert preset is not None
    found = trees(parser, plan)
    assert {one.metric for one in found} == {metric for series in preset.series.values() for metric in series.metrics}
    for one in found:
        assert (one.kind, one.range_ms) == ("*parser.MatrixSelector", round(plan.lookback * 1000))
        assert [(one.type, one.value) for one in one.matchers if one.name == "cluster"] == [("=", 'a"}\n{')]
        assert len({one.name for one in one.matchers}) == len(one.matchers)
