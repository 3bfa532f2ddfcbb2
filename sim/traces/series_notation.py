"""promtool's series notation: `input_series` of a unit test file, as a trace on the grid of its interval.

`a+bxn` is a, a+b, … a+n×b (n + 1 values), `axn` is a, n + 1 times, `_` is no sample, `_xn` none n times; `stale` ends a
series for that instant and so is no sample either.
Source: https://prometheus.io/docs/prometheus/latest/configuration/unit_testing_rules/#series
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import promql_parser

from adapter.core.documents import Document, read_documents
from adapter.core.units import parse_duration
from sim.traces.files import open_text
from sim.traces.instants import SECOND
from sim.traces.options import TraceOptions, refuse
from sim.traces.series_store import SeriesStore

_FIX = "give a promtool test file, or interval and input_series"
MAX_CHARACTERS = 1_000_000
MAX_VALUES = 1_000_000
DEFAULT_INTERVAL = "1m"

_NUMBER = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+|[nN]a[nN]|[iI]nf)"
_ITEM = re.compile(
    rf"(?P<blank>_)(?:x(?P<blanks>\d+))?|(?P<stale>stale)"
    rf"|(?P<first>{_NUMBER})(?:(?P<step>[-+](?:[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?))?x(?P<times>\d+))?"
)


@dataclass(frozen=True, slots=True)
class Notation:
    """The values of one series, None for no sample."""

    text: str

    def values(self) -> Iterator[float | None]:
        """The values in order; ValueError names the part that is none."""
        for part in self.text.split():
            match = _ITEM.fullmatch(part)
            if match is None:
                raise ValueError(f'"{part}" is no part of a series; write e.g. 5, 0+10x20, _x3 or stale')
            if match["blank"] or match["stale"]:
                for _ in range(int(match["blanks"] or 1)):
                    yield None
                continue
            first, step = float(match["first"]), float(match["step"] or 0)
            for index in range(int(match["times"] or 0) + 1):
                yield first + index * step


def read_series_notation(path: Path, options: TraceOptions) -> SeriesStore:
    """The series of the first test of a file, or of `interval` and `input_series` at its top."""
    with open_text(path) as text:
        content = text.read(MAX_CHARACTERS)
    documents, problems = read_documents(content, str(path))
    if problems or len(documents) != 1:
        words = str(problems[0]) if problems else f"{len(documents)} documents, one is read"
        raise refuse(str(path), words, _FIX)
    document = documents[0]
    base, test, notes = _test(document, path)
    try:
        interval = round(parse_duration(test.get("interval", DEFAULT_INTERVAL)) * SECOND)
    except ValueError as error:
        raise refuse(_at(document, (*base, "interval"), path), str(error), "e.g. interval: 15s") from error
    series = test["input_series"]
    if not isinstance(series, list) or interval <= 0:
        raise refuse(_at(document, (*base, "input_series"), path), "no list of series", "write - series: … values: …")
    store = SeriesStore(str(path), options, is_epoch=False)
    blanks: Counter[str] = Counter()
    for index, one in enumerate(series):
        _take(store, one, interval, _at(document, (*base, "input_series", index), path), blanks)
    return store.close(tuple(notes), dict(blanks))


def _test(document: Document, path: Path) -> tuple[tuple[str | int, ...], dict[str, Any], list[str]]:
    value = document.value
    if isinstance(value, dict) and "input_series" in value:
        return (), value, []
    tests = value.get("tests") if isinstance(value, dict) else None
    if not isinstance(tests, list) or not tests or not isinstance(tests[0], dict) or "input_series" not in tests[0]:
        raise refuse(f"{path}:1", "no tests with input_series", _FIX)
    more = [f"only the first of {len(tests)} tests is read"] if len(tests) > 1 else []
    first = tests[0]
    if "interval" not in first and isinstance(value, dict) and "evaluation_interval" in value:
        first = {**first, "interval": value["evaluation_interval"]}
    return ("tests", 0), first, more


def _at(document: Document, where: tuple[str | int, ...], path: Path) -> str:
    return f"{path}:{document.value_at(where).line}"


def _take(store: SeriesStore, one: Any, interval: int, where: str, blanks: Counter[str]) -> None:
    if not isinstance(one, dict) or not isinstance(one.get("series"), str) or "values" not in one:
        raise refuse(where, "no series", "write series: 'waiting{pod=\"a\"}' and values: '0+1x10'")
    chosen = store.target(_labels(one["series"], where))
    if chosen is None:
        return
    series, factor = chosen
    try:
        for index, value in enumerate(Notation(str(one["values"])).values()):
            if index >= MAX_VALUES:
                raise refuse(where, f"more than {MAX_VALUES} values", "shorten the series")
            if value is None:
                blanks[series[0]] += 1
            else:
                store.add(series, index * interval, value * factor, where)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        raise refuse(where, str(error), "native histograms ({{…}}) are not read") from error


def _labels(text: str, where: str) -> dict[str, str]:
    try:
        found = promql_parser.parse(text)
    except ValueError as error:
        raise refuse(where, f'"{text}" is no series ({error})', 'write e.g. waiting{pod="a"}') from error
    if not isinstance(found, promql_parser.VectorSelector):
        raise refuse(where, f'"{text}" is no series', 'write e.g. waiting{pod="a"}')
    labels = {matcher.name: matcher.value for matcher in found.matchers.matchers}
    if found.name:
        labels["__name__"] = found.name
    return labels
