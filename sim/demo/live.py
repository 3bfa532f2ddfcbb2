"""Views: the screen for a terminal, a line per policy and second for a log, JSON for a program.

Each takes observations and shows them; none asks anybody anything.
"""

import json
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sim.demo.observation import Observation, PolicyView
from sim.demo.wording import amount, bars, clock, replicas, spread

DETAILS = ((17, True, True), (12, False, True), (6, False, False))
"""Rows that a policy needs, and whether its inputs and its terms are shown then; the first that fits is taken."""

MAX_BARS = 90


class View(Protocol):
    """Shows observations until it is left."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_: object) -> None: ...

    def show(self, seen: Observation) -> None:
        """Show one."""


class JsonView:
    """One object a line."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()

    def show(self, seen: Observation) -> None:
        print(json.dumps(seen.as_data(), ensure_ascii=False), flush=True)  # noqa: T201 - this is the output


class LineView:
    """One plain line a policy, so that a log of CI can be read."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        sys.stdout.flush()

    def show(self, seen: Observation) -> None:
        stamp = time.strftime("%H:%M:%S", time.localtime(seen.time))
        for one in seen.policies:
            print(f"{stamp} {plain_line(one)}", flush=True)  # noqa: T201 - this is the output


def plain_line(one: PolicyView) -> str:
    """A policy in one line."""
    why = one.why
    inputs = " ".join(_short_input(each, why["ready"]) for each in why.get("inputs", ()))
    if one.value is None:
        return f"{one.name} no signal: {one.account['reason']} ({one.account['message']}) {inputs}".rstrip()
    terms = " ".join(f"{each['name']}=[{replicas(each['up'])}, {replicas(each['down'])}]" for each in why["terms"])
    return (
        f"{one.name} signal {one.value:.3f} (wire {one.wire.get('value', one.wire['status'])})"
        f" N {_whole(why['n'])} ready {_whole(why['ready'])} U {replicas(why['up'])} D {replicas(why['down'])}"
        f" HPA≈{one.approximate_replicas} (approximate) | {why['decided_by']} | {terms} | {inputs}"
    )


def _short_input(one: Mapping[str, Any], ready: int | None) -> str:
    shown = f"{one['name']}={amount(one['total'], one['unit'])}"
    return f"{shown} ({one['reason']})" if is_lacking(one, ready) else shown


def is_lacking(one: Mapping[str, Any], ready: int | None) -> bool:
    """Whether an input's reason matters: a pod that has gone is told too, and lacks nowhere."""
    return one["reason"] is not None and (ready is None or one["pods"] < max(1, ready))


class ScreenView:
    """The whole terminal, redrawn; what was last seen stays on the ordinary screen at the end."""

    def __init__(self, console: Console, header: Sequence[str], footer: Sequence[str]) -> None:
        self._console, self._header, self._footer = console, header, footer
        self._live = Live(console=console, screen=True, auto_refresh=False)
        self._last: Observation | None = None

    def __enter__(self) -> Self:
        self._live.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.__exit__(None, None, None)
        if self._last is not None:
            self._console.print(Group(*(policy_panel(one) for one in self._last.policies)))

    def show(self, seen: Observation) -> None:
        self._last = seen
        self._live.update(self._picture(seen), refresh=True)

    def _picture(self, seen: Observation) -> RenderableType:
        rows = (self._console.height - len(self._header) - len(self._footer)) // max(1, len(seen.policies))
        head = [Text(line, no_wrap=True, overflow="ellipsis") for line in self._header]
        head[0].append(f"   {clock(seen.trace_seconds)} of the trace", style="bold cyan")
        panels = [policy_panel(one, rows) for one in seen.policies]
        foot = [Text(line, style="dim" if line.endswith(":") else "green") for line in self._footer]
        return Group(*head, *panels, *foot)


def policy_panel(one: PolicyView, rows: int = DETAILS[0][0]) -> Panel:
    """A policy in a frame: the signal, why, the inputs and the terms, as far as there is room."""
    parts: list[RenderableType] = [_headline(one), _reason(one)]
    _, has_inputs, has_terms = next((level for level in DETAILS if level[0] <= rows), DETAILS[-1])
    if one.why and has_inputs:
        parts.append(_inputs(one.why))
    if one.why and has_terms:
        parts.append(_terms(one.why))
    parts.append(_chart(one))
    title = f"[bold]{one.name}[/bold] → metric {one.account['metric']}"
    return Panel(Group(*parts), title=title, title_align="left", border_style="blue", padding=(0, 1))


def _headline(one: PolicyView) -> Text:
    why = one.why
    line = Text(no_wrap=True, overflow="ellipsis")
    if one.value is None:
        line.append(f"NO SIGNAL ({one.account['reason']})", style="bold red")
        line.append(f"   HTTP {one.wire['status']}   the HPA keeps its replicas")
        return line
    line.append(f"signal {one.value:.3f}", style="bold green")
    line.append(f"  wire {one.wire.get('value', one.wire['status'])}")
    line.append(f"  U {replicas(why['up'])}  D {replicas(why['down'])}  N {_whole(why['n'])}", style="bold")
    line.append(f"  ready {_whole(why['ready'])}")
    line.append(f"  HPA ≈ {one.approximate_replicas}", style="bold yellow")
    line.append(" (approximate: ⌈signal⌉)", style="dim")
    return line


def _reason(one: PolicyView) -> Text:
    words = one.account["message"] if one.value is None else one.why["decided_by"]
    line = Text("because ", style="dim", no_wrap=True, overflow="ellipsis")
    line.append(str(words), style="italic")
    return line


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], styles: Sequence[str]) -> Table:
    """A table whose last column alone gives way where room is short; a column of numbers stands to the right."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False, expand=True)
    for index, name in enumerate(columns[:-1]):
        cells = [row[index] for row in rows]
        width = max(map(len, (name, *cells)))
        table.add_column(name, justify="right" if name in _NUMBERS else "left", no_wrap=True, width=width)
    table.add_column(columns[-1], no_wrap=True, overflow="ellipsis", ratio=1)
    for row, style in zip(rows, styles, strict=True):
        table.add_row(*row, style=style)
    return table


_NUMBERS = ("pods", "total", "U", "D")


def _inputs(why: Mapping[str, Any]) -> Table:
    rows, styles = [], []
    for one in why["inputs"]:
        age = "–" if one["as_of"] is None else f"{why['t'] - one['as_of']:.1f} s"
        lacks = is_lacking(one, why["ready"])
        if lacks:
            age += f"  {one['reason']}: {one['message']}"
        rows.append((one["name"], str(one["pods"]), amount(one["total"], one["unit"]), spread(one), age))
        styles.append("yellow" if lacks else "")
    return _table(("input", "pods", "total", "smallest … largest pod", "age"), rows, styles)


def _terms(why: Mapping[str, Any]) -> Table:
    largest = max((one["up"] for one in why["terms"]), default=0.0)
    rows = [
        (f"{one['name']} ({one['kind']})", replicas(one["up"]), replicas(one["down"]), one["text"])
        for one in why["terms"]
    ]
    styles = ["bold" if one["up"] == largest else "" for one in why["terms"]]
    return _table(("term", "U", "D", "how (input ÷ what one replica takes)"), rows, styles)


def _chart(one: PolicyView) -> Text:
    known = [value for value in (*one.values[-MAX_BARS:], *one.replicas[-MAX_BARS:]) if value is not None]
    top = max(known, default=1.0) or 1.0
    line = Text(no_wrap=True, overflow="crop")
    line.append("signal ", style="dim").append(bars(one.values, top, MAX_BARS), style="green")
    line.append("\nN      ", style="dim").append(bars(one.replicas, top, MAX_BARS), style="blue")
    line.append(f"   bars from 0 to {top:.1f}, one a second", style="dim")
    return line


def _whole(value: float | None) -> str:
    return "?" if value is None else f"{value:g}"
