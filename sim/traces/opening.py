"""Opening a trace file by what it is: the one place that knows all readers."""

from pathlib import Path

from sim.traces.plain_csv import PlainCsv
from sim.traces.trace import Trace, TraceError


def open_trace(path: Path, epoch: float | None = None) -> Trace:
    """The trace in a file; TraceError where no reader can use it."""
    name = path.name.removesuffix(".gz")
    if not name.endswith(".csv"):
        raise TraceError(
            f"{path}: a trace is a CSV file with the header t_s,INPUT,…, which may be compressed (.csv.gz)"
        )
    return PlainCsv(path, epoch)
