"""`scaleproof trace FILE`: what was understood of a trace, before anything is replayed with it.

Exit status: 0 it can be read, 2 it cannot.
"""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from adapter.core.units import show_duration
from sim.traces.flags import with_trace_flags
from sim.traces.opening import detect, open_trace
from sim.traces.options import TraceOptions
from sim.traces.recording import Recording
from sim.traces.trace import Trace, TraceError

app = typer.Typer(add_completion=False)

MAX_SERIES_COUNTED = 100_000
SHOWN_HOLES = 10


class Output(StrEnum):
    """How it is shown."""

    TEXT = "text"
    JSON = "json"


@dataclass
class InputCount:
    """What is in one input."""

    samples: int = 0
    least: float = float("inf")
    most: float = float("-inf")
    series: set[object] = field(default_factory=set)


@app.command()
@with_trace_flags
def trace(
    file: Annotated[Path, typer.Argument(help="The trace.")],
    trace_options: TraceOptions,
    output: Annotated[Output, typer.Option(help="text or json.")] = Output.TEXT,
) -> None:
    """Show what a trace has: inputs, span, step, holes, blanks. Exit status: 0 readable, 2 not."""
    try:
        opened = open_trace(file, trace_options)
        data = describe(opened, str(trace_options.format or detect(file)))
    except TraceError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    if output is Output.JSON:
        typer.echo(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(_lines(data)))


def describe(opened: Trace, form: str) -> dict[str, Any]:
    """All that is known of a trace, as plain data."""
    counts: dict[str, InputCount] = defaultdict(InputCount)
    for sample in opened.samples():
        count = counts[sample.input]
        count.samples += 1
        count.least, count.most = min(count.least, sample.value), max(count.most, sample.value)
        if len(count.series) < MAX_SERIES_COUNTED:
            count.series.add(sample.labels)
    header = opened.header
    data: dict[str, Any] = {
        "file": header.source,
        "format": form,
        "start_s": header.start,
        "end_s": header.end,
        "step_s": header.step,
        "zero": None if header.epoch is None else datetime.fromtimestamp(header.epoch, UTC).isoformat(),
        "inputs": [_input(name, counts[name], header.blanks.get(name, 0)) for name in header.inputs],
        "holes": [[hole.start, hole.end] for hole in header.holes],
        "notes": list(header.notes),
    }
    if isinstance(opened, Recording):
        recorded = opened.recorded
        data["recording"] = {
            "policy": recorded.policy, "policy_sha256": recorded.policy_sha256, "every_s": recorded.every,
            "offset_s": recorded.offset, "lookback_s": recorded.lookback, "versions": dict(recorded.versions),
            "sha256": recorded.sha256,
        }  # fmt: skip
    return data


def _input(name: str, count: InputCount, blanks: int) -> dict[str, Any]:
    has = count.samples > 0
    return {
        "input": name,
        "series": len(count.series),
        "samples": count.samples,
        "blanks": blanks,
        "min": count.least if has else None,
        "max": count.most if has else None,
    }


def _lines(data: dict[str, Any]) -> list[str]:
    span = data["end_s"] - data["start_s"]
    zero = f", 0 s is {data['zero']}" if data["zero"] else ""
    step = f", a row every {data['step_s']:g} s" if data["step_s"] else ""
    lines = [
        f"{data['file']}: {data['format']}",
        f"from {data['start_s']:g} s to {data['end_s']:g} s ({show_duration(round(span))}){step}{zero}",
        f"{'input':<32} {'series':>6} {'samples':>9} {'blanks':>7} {'min':>12} {'max':>12}",
    ]
    for one in data["inputs"]:
        ends = ["–" if one[end] is None else f"{one[end]:g}" for end in ("min", "max")]
        name = one["input"]
        row = f"{one['series']:>6} {one['samples']:>9} {one['blanks']:>7} {ends[0]:>12} {ends[1]:>12}"
        lines += [f"{name:<32} {row}"] if len(name) <= 32 else [name, f"{'':<32} {row}"]
    for start, end in data["holes"][:SHOWN_HOLES]:
        lines.append(f"hole: no row from {start:g} s to {end:g} s")
    if len(data["holes"]) > SHOWN_HOLES:
        lines.append(f"{len(data['holes']) - SHOWN_HOLES} further holes")
    for name, value in data.get("recording", {}).items():
        lines.append(f"{name}: {value}")
    return lines + [f"note: {note}" for note in data["notes"] if not note.startswith("no row from")]
