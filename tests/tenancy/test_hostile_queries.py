"""Confined queries as Prometheus's own parser reads them: every selector is confined, and all else is as it was."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from prometheus_parser import Parser, prometheus_parser

from adapter.core import promql
from adapter.core.tenancy import Confinement, NotConfinable, confined

pytestmark = pytest.mark.slow

TO = Confinement("prod")
STRICT = Confinement("prod", unlabelled=False)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with prometheus_parser() as running:
        yield running


QUERIES = [
    "up",
    '{__name__=~".+"}',
    "absent(up)",
    "absent_over_time(up[5m])",
    "rate(up[5m] offset 1m) + on (pod) group_left (node) max_over_time(sum by (pod) (up)[1h:5m] offset 2m)",
    "up @ 1700000000.5 or up @ end() offset -3m unless vector(1)",
    'label_replace(up, "namespace", "prod", "", "")',
    'up{pod="} or down{namespace=\\"prod\\"}"}',
    "up # {namespace='prod'}",
    "up # \n + down",
    'up{a=`"}`} and down',
    "sum by (namespace) (up) / ignoring (pod) group_right () sum without () (down)",
    "histogram_quantile(0.95, sum by (le) (rate(latency_bucket[2m])))",
    "topk(scalar(down), up) and quantile(0.9, up) > bool 0.30000000000000004 * 1e-7 ^ -2 ^ 3",
    'count_values("namespace", up) == -(-up) % 3 atan2 1e300',
    "1 - up - (2 - up) - 3 ^ (up ^ 2)",
    "rate(up[1w2d3h4m5s6ms])",
    '{"up.with.dots", "label.with.dots"="x"}',
    'up{namespace!=""}',
    'up{namespace=""}',
    'up{exported_pod!=""}',
    'up{a="\\u00e9\\x41\\t\\n\\\\"}',
    'up{a=~"b\\\\.c|d"} > 0x1F',
    "clamp(up, 0, Inf) + NaN",
    "-up ^ 2 * up",
]


@pytest.mark.parametrize("to", [TO, STRICT], ids=["own-or-unlabelled", "own"])
@pytest.mark.parametrize("query", QUERIES)
def test_every_selector_is_confined_and_nothing_else_changes(parser: Parser, query: str, to: Confinement) -> None:
    if not to.unlabelled and query == 'up{namespace=""}':
        return  # refused, which another test holds
    before = parser.parse(query, label="namespace")
    after = parser.parse(confined(query, to), label="namespace")
    assert after.without == before.without
    assert len(after.selectors) == len(before.selectors)
    assert_confined(parser, confined(query, to), to)


def assert_confined(parser: Parser, query: str, to: Confinement) -> None:
    """Of the series that a selector matches, by the matchers on its label: own ones, never another's."""
    for namespace, may_pass in (("prod", True), ("other", False), ("prod-2", False), ("", to.unlabelled)):
        for selector in parser.parse(query, namespace).selectors:
            mine = [one for one in selector if one.name == "namespace"]
            assert mine
            if not may_pass:
                assert not all(one.accepts for one in mine), (query, namespace)


HOSTILE = st.text(
    st.one_of(st.sampled_from(list("\"'`\\{}[]()\n\r\t,=~!#$|*+.?^/ -")), st.characters(exclude_categories=["Cs"])),
    max_size=12,
)
LABELS = st.sampled_from(["pod", "a", "_b", "exported_pod"])
MATCHERS = st.dictionaries(LABELS, HOSTILE.filter(lambda text: not text.startswith(("~", "!"))), max_size=3)
SELECTORS = st.builds(promql.selector, st.sampled_from(["up", "vllm:x", "a_b"]), MATCHERS)
TAILS = st.sampled_from(["", " offset 5m", " offset -1m30s", " @ 1700000000.25", " @ start() offset 1h"])
INSTANT = st.builds("{}{}".format, SELECTORS, TAILS)
OVER_TIME = st.builds("rate({}[{}]{})".format, SELECTORS, st.sampled_from(["5m", "90s", "1h1ms"]), TAILS)
NUMBERS = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: f"({number!r})")
EXPRESSIONS = st.recursive(
    st.one_of(INSTANT, OVER_TIME),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(["+", "-", "/", "and", "or", "unless", "> bool"]), inner),
        st.builds("({} {} {})".format, NUMBERS, st.sampled_from(["*", "^", "%", ">"]), inner),
        st.builds("{} by (pod, namespace) ({})".format, st.sampled_from(["sum", "max", "count"]), inner),
        st.builds("max_over_time(({})[{}]{})".format, inner, st.sampled_from(["5m:", "1h:30s"]), TAILS),
        st.builds("-({})".format, inner),
        st.builds("absent({})".format, inner),
        st.builds("topk by (pod) (3, {})".format, inner),
        st.builds('label_replace({}, "namespace", {}, "pod", "(.*)")'.format, inner, HOSTILE.map(promql.quoted)),
    ),
    max_leaves=5,
)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(query=EXPRESSIONS)
def test_whatever_a_query_is_made_of_it_is_confined_or_refused(parser: Parser, query: str) -> None:
    try:
        promql.kind_of(query)
    except ValueError:
        assume(False)
    try:
        after = parser.parse(confined(query, TO), label="namespace")
    except NotConfinable:
        assume(False)
    before = parser.parse(query, label="namespace")
    assert after.without == before.without
    assert len(after.selectors) == len(before.selectors)
    for selector in after.selectors:
        assert [(one.type, one.value) for one in selector if one.name == "namespace"] == [("=~", "prod|")]
