"""Metric traces: what a metric store would have held, per pod and step, as plain rows.

Reads the bundled file. Knows neither Prometheus' names nor wall time; the demonstration gives it both.
"""

import csv
import gzip
import io
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from sim.traces.trace import TraceError

COLUMNS = (
    "t_s",
    "deployment",
    "spec_replicas",
    "ready_replicas",
    "pod",
    "pod_ready",
    "arrivals_total",
    "completed_total",
    "waiting",
    "running",
    "kv_ratio",
    "gpu_active",
    "vram_used_mib",
    "vram_free_mib",
    "vram_reserved_mib",
)
TRACE_FILE = Path(__file__).parent / "data" / "inference-2h.csv.gz"


@dataclass(frozen=True, slots=True)
class Serving:
    """What the engine of a pod tells once it runs. Counters count since the pod started; memory is per pod."""

    arrivals_total: int
    completed_total: int
    waiting: int
    running: int
    kv_ratio: float


@dataclass(frozen=True, slots=True)
class PodRow:
    """One pod at one step; `serving` is None while it loads. VRAM is MiB on each of its GPUs."""

    pod: str
    is_ready: bool
    serving: Serving | None
    gpu_active: float
    vram_used_mib: int
    vram_free_mib: int
    vram_reserved_mib: int


@dataclass(frozen=True, slots=True)
class Step:
    """One Deployment at one step."""

    spec_replicas: int
    ready_replicas: int
    pods: Mapping[str, PodRow]


@dataclass(frozen=True)
class MetricTrace:
    """Steps of equal length by Deployment, the first at 0 s."""

    step_seconds: int
    deployments: Mapping[str, tuple[Step, ...]]

    @cached_property
    def seconds(self) -> int:
        """How long the trace is."""
        return self.step_seconds * min(map(len, self.deployments.values()), default=0)


def read_metric_trace(path: Path = TRACE_FILE) -> MetricTrace:
    """The trace of a file; TraceError where it is not of the form above."""
    text = gzip.decompress(path.read_bytes()).decode()
    return parse_metric_trace(text, str(path))


def parse_metric_trace(text: str, file: str = "trace") -> MetricTrace:
    """The trace in CSV text with the columns above, rows of one step together."""
    reader = csv.DictReader(io.StringIO(text))
    if tuple(reader.fieldnames or ()) != COLUMNS:
        raise TraceError(f"{file}:1: the columns are {reader.fieldnames}, expected {', '.join(COLUMNS)}")
    replicas: dict[str, dict[int, tuple[int, int]]] = defaultdict(dict)
    pods: dict[str, dict[int, dict[str, PodRow]]] = defaultdict(lambda: defaultdict(dict))
    for line, row in enumerate(reader, start=2):
        try:
            time, deployment = int(row["t_s"]), row["deployment"]
            replicas[deployment][time] = (int(row["spec_replicas"]), int(row["ready_replicas"]))
            pods[deployment][time][row["pod"]] = _pod_row(row)
        except (ValueError, TypeError) as error:
            raise TraceError(f"{file}:{line}: {error}") from error
    steps = {}
    for deployment, by_time in replicas.items():
        times = sorted(by_time)
        length = times[1] - times[0] if len(times) > 1 else 1
        if times != list(range(0, length * len(times), length)):
            raise TraceError(f"{file}: the steps of {deployment} are not equal, or do not start at 0")
        steps[deployment] = (length, tuple(Step(*by_time[time], pods[deployment][time]) for time in times))
    lengths = {length for length, _ in steps.values()}
    if len(lengths) != 1:
        raise TraceError(f"{file}: expected one length of step, found {sorted(lengths)}")
    return MetricTrace(lengths.pop(), {deployment: found for deployment, (_, found) in steps.items()})


def _pod_row(row: Mapping[str, str]) -> PodRow:
    serving = None
    if row["running"]:
        serving = Serving(
            int(row["arrivals_total"]),
            int(row["completed_total"]),
            int(row["waiting"]),
            int(row["running"]),
            float(row["kv_ratio"]),
        )
    return PodRow(
        row["pod"],
        row["pod_ready"] == "1",
        serving,
        float(row["gpu_active"]),
        int(row["vram_used_mib"]),
        int(row["vram_free_mib"]),
        int(row["vram_reserved_mib"]),
    )
