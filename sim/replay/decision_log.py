"""The decision log: one record a sync, as text, as JSON Lines or as Parquet.

Records go out as they come, Parquet's in batches, so that a log of any length costs no memory. `metrics` holds the
value's text on the wire, null where the metric failed (a 503).
"""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from sim.replay.steps import SyncStep

BATCH = 10_000


class Log(Protocol):
    """Takes syncs in order, and is closed at the end."""

    def add(self, step: SyncStep) -> None:
        """Write one."""

    def close(self) -> None:
        """Write what is left."""


class LogError(Exception):
    """The log cannot be written."""


def time_of(step: SyncStep) -> float | int:
    """The time without a needless .0."""
    return int(step.t) if step.t == int(step.t) else round(step.t, 6)


def record(step: SyncStep, mode: str) -> dict[str, object]:
    """One sync as plain data."""
    return {
        "t": time_of(step),
        "metrics": {metric.name: metric.text for metric in step.metrics},
        "replicas": step.replicas,
        "desired": step.desired,
        "reasons": list(step.reasons),
        "ready": step.ready,
        "mode": mode,
    }


class JsonLines:
    """JSON Lines."""

    def __init__(self, write: Callable[[str], object], mode: str) -> None:
        self._write, self._mode = write, mode

    def add(self, step: SyncStep) -> None:
        self._write(json.dumps(record(step, self._mode), separators=(", ", ": ")) + "\n")

    def close(self) -> None:
        """Everything is written."""


class TextLog:
    """Lines for people: every sync, or those at which something changed, at most so many."""

    def __init__(self, write: Callable[[str], object], is_whole: bool, limit: int) -> None:
        self._write, self._is_whole, self._left = write, is_whole, limit
        self._last: tuple[object, ...] | None = None
        self._dropped = 0

    def add(self, step: SyncStep) -> None:
        now = (step.desired, step.reasons)
        is_news = self._is_whole or step.is_rescale or self._last is None or self._last[1] != step.reasons
        self._last = now
        if not is_news:
            return
        if self._left <= 0:
            self._dropped += 1
            return
        self._left -= 1
        self._write(text_line(step) + "\n")

    def close(self) -> None:
        if self._dropped:
            self._write(f"… {self._dropped} more; --log all writes every sync\n")


def text_line(step: SyncStep) -> str:
    """One sync in words."""
    metrics = ", ".join(f"{one.name} {one.text if one.text is not None else '-'}" for one in step.metrics)
    change = f"{step.replicas} → {step.desired}" if step.is_rescale else f"{step.replicas}"
    return f"{time_of(step):>10} s  {change:<10} {metrics:<32} {', '.join(step.reasons)}"


class ParquetLog:
    """One row a sync; the columns of the metrics are `metric:NAME`. Needs pyarrow, the extra [sim]."""

    def __init__(self, path: Path, metrics: list[str], mode: str, said: str) -> None:
        try:
            arrow = importlib.import_module("pyarrow")  # an extra, and slow to import
            parquet = importlib.import_module("pyarrow.parquet")
        except ImportError as error:
            raise LogError("Parquet needs pyarrow: pip install 'scaleproof[sim]'") from error
        self._arrow: Any = arrow
        self._metrics, self._mode = metrics, mode
        fields = [("t", arrow.float64()), *((f"metric:{name}", arrow.string()) for name in metrics)]
        fields += [(name, arrow.int64()) for name in ("replicas", "desired", "ready")]
        fields += [("reasons", arrow.list_(arrow.string()))]
        self._schema = arrow.schema(fields, metadata={"scaleproof.mode": mode, "scaleproof.said": said})
        try:
            self._writer: Any = parquet.ParquetWriter(str(path), self._schema)
        except OSError as error:
            raise LogError(f"{path}: {error.strerror or error}") from error
        self._rows: list[dict[str, object]] = []

    def add(self, step: SyncStep) -> None:
        values = {f"metric:{one.name}": one.text for one in step.metrics}
        row = {"t": step.t, **values, "replicas": step.replicas, "desired": step.desired, "ready": step.ready}
        self._rows.append({**row, "reasons": list(step.reasons)})
        if len(self._rows) >= BATCH:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
        self._rows = []
