"""Prometheus's JSON results as series of samples.

Pure parsing of the `result` of /api/v1/query and /api/v1/query_range: vector, matrix or scalar.
Source: https://prometheus.io/docs/prometheus/latest/querying/api/#expression-query-result-formats
"""

from collections.abc import Mapping, Sequence
from math import isfinite

from adapter.core.samples import Labels, Sample, Series, labels_of


class MalformedAnswer(ValueError):
    """A result that is not of the documented form."""


def parse_result(result: object) -> tuple[Series, ...]:
    """The series of a result; samples keep the time they came with."""
    if not isinstance(result, list):
        raise MalformedAnswer("the result is no list")
    if len(result) == 2 and isinstance(result[0], int | float) and isinstance(result[1], str):
        return (Series((), (_sample(result),)),)
    return tuple(_series(one) for one in result if isinstance(one, dict) or _refuse())


def _refuse() -> bool:
    raise MalformedAnswer("an element of the result is no object")


def _series(one: Mapping[str, object]) -> Series:
    labels = _labels(one.get("metric"))
    if "values" in one:
        values = one["values"]
        if not isinstance(values, list) or not values:
            raise MalformedAnswer("a series of a matrix has no values")
        return Series(labels, tuple(_sample(pair) for pair in values))
    return Series(labels, (_sample(one.get("value")),))


def _labels(metric: object) -> Labels:
    if not isinstance(metric, dict):
        raise MalformedAnswer("a series has no labels")
    return labels_of({str(name): str(value) for name, value in metric.items()})


def _sample(pair: object) -> Sample:
    if not isinstance(pair, Sequence) or len(pair) != 2:
        raise MalformedAnswer("a sample is no pair of time and value")
    time, value = pair
    if not isinstance(time, int | float) or not isinstance(value, str):
        raise MalformedAnswer("a sample is no pair of a number and a text")
    if not isfinite(time):  # JSON's NaN, which Python reads, is never older than anything
        raise MalformedAnswer("a sample has no time")
    return Sample(float(value), float(time))
