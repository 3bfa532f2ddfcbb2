"""A Prometheus whose truth is a function of time, and whose faults are one too: drawn for each query and instant.

So whoever asks the same gets the same, however often and whenever, and a test knows what is right at each instant
without asking anybody. Queries whose metric starts with `sound` are never touched.
"""

import random
import re
from collections import Counter

from fake_prometheus import (
    Behaviour,
    Exchange,
    cut_off,
    dripping,
    dripping_head,
    failing,
    hanging,
    success,
)

SPELL_SECONDS = 7
"""A fault lasts for so many instants of a grid of 1 s, then another is drawn."""
CALM_SHARE = 0.4
LATE_SECONDS = 300.0

Series = list[dict[str, object]]


def truth(metric: str, instant: float) -> int:
    """What is in flight: whole requests between 5 and 95, another number each second and for each metric."""
    return 5 + (int(instant) * 37 + sum(metric.encode())) % 91


def metric_of(query: str) -> str:
    found = re.match(r"[a-z_0-9]+", query)
    return found.group() if found else query


def truth_series(exchange: Exchange, *, late: float = 0.0, value: str | None = None) -> Series:
    """One series with a sample each second of the range that is asked for, or with the one value now."""
    query, at = exchange.parameters["query"], float(exchange.parameters["time"])
    metric, (number, unit) = metric_of(query), re.findall(r"\[([0-9]+)(ms|s)\]$", query)[0]
    seconds = float(number) / (1000 if unit == "ms" else 1)
    times = range(max(0, int(at - seconds) + 1), int(at) + 1) if value is None and not late else [at - late]
    return [{"metric": {"instance": "a"}, "values": [[one, value or str(truth(metric, one))] for one in times]}]


def reading(value: str | None = None, *, late: float = 0.0, **more: object) -> Behaviour:
    """The truth, or one value in its place."""
    return lambda exchange: exchange.send(
        200, success(truth_series(exchange, late=late, value=value), "matrix", **more)
    )


def huge(exchange: Exchange) -> None:
    """100 MiB of blanks: more than is ever read."""
    exchange.send_response(200)
    exchange.send_header("Content-Length", str(100 * 2**20))
    exchange.end_headers()
    for _ in range(1600):
        exchange.wfile.write(b" " * 65536)


FAULTS: dict[str, Behaviour] = {
    "503": failing(503),
    "429": failing(429, b"slow down"),
    "bad gateway in HTML": failing(502, b"<html>bad gateway</html>", "text/html"),
    "HTML with 200": failing(200, b"<html>log in</html>", "text/html"),
    "redirect": failing(302, b"", "text/plain", Location="/login"),
    "silence": hanging,
    "dripping": dripping,
    "dripping head": dripping_head,
    "cut off": cut_off,
    "huge": huge,
    "not JSON": failing(200, b'{"status": "success", "data"', "application/json"),
    "warnings": reading(warnings=["a store is unreachable"]),
    "empty": lambda exchange: exchange.send(200, success([], "matrix")),
    "stale": reading(late=LATE_SECONDS),
    "NaN": reading("NaN"),
    "+Inf": reading("+Inf"),
    "negative": reading("-1"),
    "a sentinel": reading("1e30"),
    "too large": reading("1e17"),
}


def fault_at(seed: int, metric: str, instant: float) -> str | None:
    """The fault of a metric at an instant; None while it is well."""
    if metric.startswith("sound"):
        return None
    spell = random.Random(f"{seed} {metric} {int(instant) // SPELL_SECONDS}")
    return None if spell.random() < CALM_SHARE else spell.choice(sorted(FAULTS))


def faulty_behaviour(seed: int, told: Counter[str]) -> Behaviour:
    """Answers as the world is at the instant asked for, and counts the faults."""
    well = reading()

    def behave(exchange: Exchange) -> None:
        instant = float(exchange.parameters["time"])
        fault = fault_at(seed, metric_of(exchange.parameters["query"]), instant)
        told[fault or "well"] += 1
        (FAULTS[fault] if fault is not None else well)(exchange)

    return behave
