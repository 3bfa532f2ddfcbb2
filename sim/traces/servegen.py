"""The bundled ServeGen fortnight as a metric trace: arrivals, requests in flight and KV tokens in use every 15 s.

The source has windows of 600 s; between their starts the numbers go in a straight line. In flight follows from Little's
law at 30 ms a generated token, KV tokens from the prompt and, on average over a request's life, half of what it
generates. So only the arrivals and the lengths are recorded, the rest is derived from them.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from sim.traces.trace import TraceHeader, TraceSample

SERVEGEN_FILE = Path(__file__).parent / "data" / "servegen-m-large.csv"
STEP_SECONDS = 15
TOKEN_SECONDS = 0.03

Row = tuple[float, float, float, float]
"""Seconds, requests per second, tokens of a prompt, tokens generated."""


class ServeGenTrace:
    """A trace of the inputs `arrivals`, `in_flight` and `kv`, made row by row."""

    def __init__(self, days: float = 14.0, file: Path = SERVEGEN_FILE) -> None:
        self._rows = _read(file)
        self._steps = int(days * 86_400 // STEP_SECONDS)
        end = float((self._steps - 1) * STEP_SECONDS)
        self._header = TraceHeader(
            ("arrivals", "in_flight", "kv"), 0.0, end, float(STEP_SECONDS), source=f"ServeGen m-large, {days:g} days"
        )

    @property
    def header(self) -> TraceHeader:
        """What is in it."""
        return self._header

    def samples(self) -> Iterator[TraceSample]:
        """All samples."""
        rows, place = self._rows, 0
        for step in range(self._steps):
            t = float(step * STEP_SECONDS)
            while place + 2 < len(rows) and rows[place + 1][0] <= t:
                place += 1
            (begin, *low), (end, *high) = rows[place], rows[place + 1]
            share = min(1.0, (t - begin) / (end - begin))
            rate, prompt, generated = (a + (b - a) * share for a, b in zip(low, high, strict=True))
            in_flight = rate * generated * TOKEN_SECONDS
            yield TraceSample(t, "arrivals", rate)
            yield TraceSample(t, "in_flight", in_flight)
            yield TraceSample(t, "kv", in_flight * (prompt + generated / 2))


def _read(file: Path) -> list[Row]:
    with file.open(encoding="utf-8", newline="") as text:
        names = ("t_seconds", "requests_per_second", "mean_input_tokens", "mean_output_tokens")
        rows = [tuple(float(row[name] or 0) for name in names) for row in csv.DictReader(text)]
    return [(t, rate, prompt, generated) for t, rate, prompt, generated in rows]
