"""The JSON that Prometheus answers to a range query, as a trace: a series an input by its name or the mapping.

Source: https://prometheus.io/docs/prometheus/latest/querying/api/#range-queries
"""

import json
from pathlib import Path
from typing import Any

from sim.traces.files import open_text
from sim.traces.options import TraceOptions, refuse
from sim.traces.series_store import SeriesStore

_FIX = "give the body of /api/v1/query_range as it came"
MAX_CHARACTERS = 256 * 1024 * 1024


def read_prometheus_json(path: Path, options: TraceOptions) -> SeriesStore:
    """The matrix of an answer (or its bare `result`) as a trace."""
    with open_text(path) as text:
        content = text.read(MAX_CHARACTERS + 1)
    if len(content) > MAX_CHARACTERS:
        fix = "ask for a shorter span, or use `scaleproof record`, which has no such bound"
        raise refuse(str(path), f"the answer has more than {MAX_CHARACTERS} characters", fix)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        raise refuse(f"{path}:{line}", f"no JSON ({error})", _FIX) from error
    result, notes = _result(found, path)
    store = SeriesStore(str(path), options)
    for index, one in enumerate(result):
        _take(store, one, f"{path}: result[{index}]")
    return store.close(notes)


def _result(found: Any, path: Path) -> tuple[list[Any], tuple[str, ...]]:
    notes: tuple[str, ...] = ()
    if isinstance(found, dict):
        if found.get("status") == "error":
            raise refuse(str(path), f"the answer is an error: {found.get('error')}", "ask again and save the answer")
        warnings = found.get("warnings")
        if isinstance(warnings, list) and warnings:
            notes = (f"the answer came with a warning and may lack series: {str(warnings[0])[:200]}",)
        data = found.get("data")
        kind = data.get("resultType") if isinstance(data, dict) else None
        if kind not in (None, "matrix"):
            fix = "ask /api/v1/query_range, or /api/v1/query with a range such as [1h]"
            raise refuse(str(path), f"the result is a {kind} and has no times in between", fix)
        found = data.get("result") if isinstance(data, dict) else found.get("result")
    if not isinstance(found, list):
        raise refuse(str(path), "there is no result of a range query", _FIX)
    return found, notes


def _take(store: SeriesStore, one: Any, where: str) -> None:
    labels = one.get("metric") if isinstance(one, dict) else None
    values = one.get("values") if isinstance(one, dict) else None
    if not isinstance(labels, dict) or not isinstance(values, list):
        raise refuse(where, "no series with metric and values", _FIX)
    chosen = store.target({str(name): str(text) for name, text in labels.items()})
    if chosen is None:
        return
    series, factor = chosen
    for place, pair in enumerate(values):
        try:
            time, value = pair
            store.add(series, round(time * 1000) * 1_000_000, float(value) * factor, f"{where}.values[{place}]")
        except (TypeError, OverflowError) as error:
            raise refuse(f"{where}.values[{place}]", f"{pair!r} is no [time, value]", "save it again") from error
        except ValueError as error:
            if type(error) is not ValueError:
                raise
            raise refuse(f"{where}.values[{place}]", f"{pair!r} is no [time, value]", "save it again") from error
