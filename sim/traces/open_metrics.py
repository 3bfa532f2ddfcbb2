"""OpenMetrics text with time stamps, as `promtool tsdb create-blocks-from openmetrics` takes it, as a trace.

The reference parser of prometheus_client reads it; the line it stopped at is counted here, since it does not say.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

from prometheus_client.openmetrics.parser import text_fd_to_metric_families

from sim.traces.files import open_text
from sim.traces.instants import SECOND
from sim.traces.options import TraceOptions, refuse
from sim.traces.series_store import SeriesStore
from sim.traces.trace import TraceError


class _Lines:
    """Counts the lines that the parser has taken."""

    def __init__(self, text: IO[str]) -> None:
        self._text, self.number = text, 0

    def __iter__(self) -> Iterator[str]:
        for line in self._text:
            self.number += 1
            yield line


def read_open_metrics(path: Path, options: TraceOptions) -> SeriesStore:
    """Every sample of the text as a trace; a histogram's buckets and sums are series of their own."""
    store = SeriesStore(str(path), options)
    with open_text(path) as text:
        lines = _Lines(text)
        try:
            for family in text_fd_to_metric_families(lines):  # type: ignore[no-untyped-call]
                for sample in family.samples:
                    where = f"{path}:{lines.number} (or above)"
                    if sample.timestamp is None:
                        fix = "write the time in seconds behind the value, e.g. waiting 12 1800000000"
                        raise refuse(where, f"a sample of {sample.name} has no time stamp", fix)
                    chosen = store.target({**sample.labels, "__name__": sample.name})
                    if chosen is not None:
                        time = sample.timestamp
                        whole = (int(time.sec) * SECOND + int(time.nsec)) if hasattr(time, "nsec") else round(
                            float(time) * SECOND
                        )  # fmt: skip
                        store.add(chosen[0], whole, float(sample.value) * chosen[1], where)
        except TraceError:
            raise
        except (ValueError, KeyError, IndexError, TypeError) as error:
            fix = "see the OpenMetrics text format; the last line is # EOF"
            raise refuse(f"{path}:{lines.number}", f"no OpenMetrics ({error})", fix) from error
    return store.close()
