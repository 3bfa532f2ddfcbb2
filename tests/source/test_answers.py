"""Prometheus's results as series: what is not of the documented form is refused, never read as something else."""

import json

import pytest

from adapter.core.samples import Sample, Series
from adapter.prometheus_answers import MalformedAnswer, parse_result


def test_a_vector_a_matrix_and_a_scalar_are_series_with_the_times_they_came_with() -> None:
    labels = {"b": "2", "a": "1"}
    assert parse_result([{"metric": labels, "value": [5.5, "7"]}]) == (
        Series((("a", "1"), ("b", "2")), (Sample(7.0, 5.5),)),
    )
    (matrix,) = parse_result([{"metric": {}, "values": [[1, "2"], [2, "NaN"]]}])
    assert [sample.time for sample in matrix.samples] == [1.0, 2.0]
    assert parse_result([3, "4"]) == (Series((), (Sample(4.0, 3.0),)),)


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "[1]",
        '[{"metric": {}}]',
        '[{"metric": [], "value": [1, "2"]}]',
        '[{"metric": {}, "values": []}]',
        '[{"metric": {}, "value": [1, 2]}]',
        '[{"metric": {}, "value": [NaN, "2"]}]',
        '[{"metric": {}, "value": [Infinity, "2"]}]',
    ],
)
def test_a_result_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(MalformedAnswer):
        parse_result(json.loads(text))
