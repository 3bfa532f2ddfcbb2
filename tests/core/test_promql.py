"""Texts of PromQL: a raw query keeps its range whatever is written in it."""

import promql_parser
import pytest

from adapter.core import promql


@pytest.mark.parametrize("query", ["up", "up # why", 'up{a="#"}', 'up{a="b"} # one\n # two'])
def test_a_raw_query_is_asked_with_its_range_even_behind_a_comment(query: str) -> None:
    assert promql.kind_of(query) is promql.QueryKind.SELECTOR
    assert isinstance(promql_parser.parse(promql.with_range(query, 120)), promql_parser.MatrixSelector)


def test_a_range_is_written_in_whole_milliseconds() -> None:
    assert [promql.with_range("up", seconds) for seconds in (120, 2.5)] == ["up[120s]", "up[2500ms]"]


def test_a_metric_with_matchers_is_escaped_and_anchored_where_it_is_a_pattern() -> None:
    matchers = {"a": 'b"\\', "c": "~d-.*", "e": "!"}
    assert promql.selector("up", matchers) == 'up{a="b\\"\\\\",c=~"d-.*",e!=""}'
    assert promql.literal("a.b-c") == "a\\.b-c"


@pytest.mark.parametrize(
    ("query", "words"), [("sum(", "not valid PromQL"), ("up[5m]", "is a range selector"), ("(" * 101, "100 brackets")]
)
def test_what_cannot_be_asked_is_refused_in_words(query: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        promql.kind_of(query)
