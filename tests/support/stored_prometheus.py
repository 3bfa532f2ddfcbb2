"""A Prometheus on loopback that holds given samples and answers range selectors and range queries from them."""

import json
import re
from collections.abc import Mapping

from fake_prometheus import Exchange, success

Stored = Mapping[str, Mapping[float, float]]
"""Labels as JSON text → time → value."""

_RANGE = re.compile(r"\[(\d+)(s|ms)\]$")


def storing(series: Stored, left_open: bool = False, digits: int = 6) -> "StoredAnswers":
    return StoredAnswers(series, left_open, digits)


class StoredAnswers:
    """Selectors see the samples of their range; any other query is the number of series at the instant."""

    def __init__(self, series: Stored, left_open: bool, digits: int) -> None:
        self._series, self._left_open, self._digits = series, left_open, digits

    def __call__(self, exchange: Exchange) -> None:
        parameters = exchange.parameters
        query = parameters["query"]
        if "step" in parameters:
            start, end, step = (float(parameters[name]) for name in ("start", "end", "step"))
            times = [start + index * step for index in range(round((end - start) / step) + 1)]
            values = [[time, str(len(self._series))] for time in times]
            exchange.send(200, success([{"metric": {}, "values": values}], "matrix"))
            return
        found = _RANGE.search(query)
        at = float(parameters["time"])
        span = 0.0 if found is None else float(found[1]) / (1000 if found[2] == "ms" else 1)
        result = []
        for labels, samples in self._series.items():
            kept = [
                [time, f"{value:.{self._digits}g}"]
                for time, value in samples.items()
                if at - span <= time <= at and not (self._left_open and time == at - span)
            ]
            if kept and query.startswith(json.loads(labels)["__name__"]):
                result.append({"metric": json.loads(labels), "values": kept})
        exchange.send(200, success(result, "matrix"))


def labels(name: str, **more: str) -> str:
    return json.dumps({"__name__": name, **more})
