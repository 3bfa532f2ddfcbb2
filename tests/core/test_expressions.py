"""Expressions: a small language with a bound on its cost, in which what is missing is unknown."""

import pytest

from adapter.core.expressions import ExpressionError, parse_expression

VALUES = {"gpu": 0.9, "kv": 0.2, "n": 4.0, "ttft": 2.5, "queue": 12.0}


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("gpu > 70%", True),
        ("gpu > 90%", False),
        ("ttft >= 2s && queue > 10", True),
        ("ttft > 2500ms || !(n < 4)", True),
        ("queue / 4 + n * 2 - 1", 10.0),
        ("max(queue / 4, n) + min(1, kv)", 4.2),
        ("gpu > 0.5 ? 3 : 1", 3.0),
        ("1 / 0", None),  # no finite number is no number
        ("gpu > missing", None),
        ("-1.5e1 + queue", -3.0),
        ("1m == 60", True),
    ],
)
def test_an_expression_gives_its_value_or_nothing(text: str, result: object) -> None:
    found = parse_expression(text).evaluate(VALUES)
    assert found == (pytest.approx(result) if isinstance(result, float) else result)


@pytest.mark.parametrize(
    ("text", "words", "column"),
    [
        ("gpu >", "not complete", 5),
        ("gpu > 'a'", '"\'" is not read', 7),
        ("[1].all(x, true)", '"[" is not read', 1),
        ("gpu.size()", '"." is not read', 4),
        ("exp(gpu)", 'no function is called "exp"', 1),
        ("(" * 40 + "1" + ")" * 40, "nested deeper", 33),
        ("1" + "+1" * 600, "at most 1000", 1),
        ("gpu % 2", '"%" is not read', 5),
        ("1)", "one too many", 2),
        ("", "not complete", 0),
    ],
)
def test_what_is_not_in_the_language_is_refused_with_its_place(text: str, words: str, column: int) -> None:
    with pytest.raises(ExpressionError) as error:
        parse_expression(text)
    assert words in str(error.value)
    assert error.value.column == column


def test_names_are_those_used_and_calls_are_none() -> None:
    assert parse_expression("max(gpu, 1) > kv && true").names == ("gpu", "kv")
