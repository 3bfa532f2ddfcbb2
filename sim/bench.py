"""`scaleproof bench NAME`: measures one part of the product, with the floor of this machine measured in the same run.

A registry by name: each bench is a module with a `measure` function that is imported only when called. Knows how a
measurement is written, nothing about what is measured.
"""

import importlib
import json
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated

import typer

from sim.measurements import Measurement

BENCHES: Mapping[str, tuple[str, str]] = {
    "decisions": ("sim.benches.decisions", "HPA decisions per second, with the account of decisions off and on"),
    "replay": ("sim.benches.replay", "Syncs of a 14-day replay with a policy of three terms, and its memory"),
    "evaluate": ("adapter.benches.evaluate", "Signals of a fleet per CPU second, from HTTP to rendered bytes"),
    "operate": ("adapter.benches.operate", "1,000 policies: ticks, start, idling, reload; a fleet of 10,000 signals"),
    "serve": ("adapter.benches.serve", "GETs of a metric per second by one, 16 and 64 clients, of 1 to 1,000 signals"),
}
"""Bench → (module with `measure(seconds) -> list[Measurement]`, one line of help)."""

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """How the result is written."""

    TEXT = "text"
    JSON = "json"


@app.command(epilog="Benches: " + "; ".join(f"{name}: {text}" for name, (_, text) in BENCHES.items()))
def bench(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which bench.")],
    output: Annotated[Output, typer.Option(help="text or json.")] = Output.TEXT,
    seconds: Annotated[float, typer.Option(min=0.01, max=600, help="How long to measure each line.")] = 2.0,
) -> None:
    """Measure speed and memory of a part; the first line is the figure, the others are measured beside it."""
    if name not in BENCHES:
        typer.echo(f'error: there is no bench "{name}"; there are: {", ".join(BENCHES)}', err=True)
        raise typer.Exit(2)
    measure: Callable[[float], list[Measurement]] = importlib.import_module(BENCHES[name][0]).measure
    try:
        measurements = measure(seconds)
    except RuntimeError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(3) from error
    if output is Output.JSON:
        typer.echo(json.dumps(as_json(name, measurements)))
    else:
        typer.echo("\n".join(as_text(name, measurements)))


def as_json(name: str, measurements: list[Measurement]) -> dict[str, object]:
    """The first measurement at the top, the others by their names; `floor` is always among them."""
    first, *others = measurements
    return {"bench": name, "what": first.name, **first.figures(), **{other.key: other.figures() for other in others}}


def as_text(name: str, measurements: list[Measurement]) -> list[str]:
    """A small table."""
    lines = [f"{name:<34}{'per second':>12}{'CPU-s per 1000':>18}{'RSS MiB':>10}"]
    for one in measurements:
        rss = f"{one.rss_mib:.0f}" if one.rss_mib is not None else "-"
        lines.append(f"{one.name:<34}{one.per_second:>12,.0f}{one.cpu_seconds_per_1000:>18.5f}{rss:>10}")
    return lines
