"""Parquet: a table by its columns, read batch by batch. Needs pyarrow, which the extra `sim` brings along."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim.traces.options import refuse
from sim.traces.tables import Row
from sim.traces.trace import TraceError

BATCH_ROWS = 10_000


def open_parquet(path: Path) -> Any:
    """The file, open; TraceError where it cannot be or pyarrow is not there."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        fix = "install scaleproof[sim], or give the trace as CSV or JSON Lines"
        raise refuse(str(path), "Parquet is read by pyarrow, which is not installed", fix) from error
    try:
        return parquet.ParquetFile(path)
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}") from error
    except ValueError as error:  # pyarrow's own errors are ValueErrors
        raise TraceError(f"{path}: no Parquet file ({error})") from error


def parquet_rows(path: Path) -> Iterator[Row]:
    """The rows in order, numbered from 1."""
    number = 0
    with open_parquet(path) as file:
        try:
            for batch in file.iter_batches(BATCH_ROWS):
                for cells in batch.to_pylist():
                    number += 1
                    yield Row(f"{path}: row {number}", cells)
        except (OSError, ValueError) as error:
            raise TraceError(f"{path}: row {number}: damaged ({error})") from error
