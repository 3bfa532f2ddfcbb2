"""`scaleproof demo`: shows the adapter at work, with nothing else on the machine.

A bundled trace is played through an endpoint that answers like Prometheus; the unchanged adapter scales on it with the
two ready policies; what it says is shown each second. Ends after `--for`, or cleanly on Ctrl-C.
"""

import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from adapter.core.units import parse_duration
from sim.bundled import bundled_policies
from sim.demo.adapter_process import AdapterFailed, AdapterProcess
from sim.demo.live import JsonView, LineView, ScreenView, View
from sim.demo.observation import Observation, Recorder
from sim.demo.player import TracePlayer
from sim.demo.prometheus_endpoint import PrometheusEndpoint
from sim.demo.tempo import at_tempo
from sim.demo.wording import folded, paste_lines
from sim.traces.metric_trace import read_metric_trace

MAX_FAILURES_IN_A_ROW = 5
LOOK_AT = 0.7
MAX_LINE = 10_000
ATTRIBUTION = (
    "arrivals: Azure LLM inference trace 2023 (Patel et al., ISCA 2024; CC BY 4.0), scaled; the rest simulated"
)

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """How it is shown."""

    TEXT = "text"
    JSON = "json"


class DemoFailed(Exception):
    """The demonstration cannot go on."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What was asked for."""

    seconds: float | None
    speed: float
    start: float
    policies: Path
    output: Output


@app.command()
def demo(
    for_: Annotated[
        str | None, typer.Option("--for", help="End after this time, e.g. 20s; without, on Ctrl-C.")
    ] = None,
    speed: Annotated[float, typer.Option(help="Seconds of the trace per second.", min=0.1, max=60)] = 10.0,
    start: Annotated[str, typer.Option(help="Where in the two hours to begin.")] = "60m",
    policies: Annotated[Path | None, typer.Option(help="Folder with policies instead of the two ready ones.")] = None,
    output: Annotated[Output, typer.Option(help="text, or json: an object a second.")] = Output.TEXT,
) -> None:
    """Show signals live from a bundled trace: no cluster, no Prometheus, no GPU.

    Exit status: 0 if a signal was served, 1 if none was or the adapter failed, 2 for bad options or policies.
    """
    try:
        seconds = None if for_ is None else parse_duration(for_)
        choices = Choices(seconds, speed, parse_duration(start), policies or bundled_policies(), output)
        with interruptible():
            run(choices)
    except (DemoFailed, AdapterFailed) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from error
    except (ValueError, OSError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends the demonstration as Ctrl-C does: cleanly."""

    def interrupt(_number: int, _frame: object) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def run(choices: Choices) -> None:
    """Play, serve, show; everything that was started is ended on the way out."""
    # With JSON on standard output, whatever is said to people goes to standard error.
    console = Console(stderr=choices.output is Output.JSON, highlight=False)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="scaleproof-demo-")))
        write_policies(choices, folder / "policies")
        player = TracePlayer(read_metric_trace(), begun=time.time(), start=choices.start, speed=choices.speed)
        endpoint = PrometheusEndpoint(player)
        endpoint.start()
        stack.callback(endpoint.close)
        console.print("starting the adapter …")
        adapter = AdapterProcess(folder / "policies", endpoint.url, folder / "adapter.log")
        stack.callback(adapter.close)
        stack.callback(say, console, "ending the adapter, which lets requests under way finish …")
        adapter.wait_until_ready()
        metrics = sorted({(one["namespace"], one["metric"]) for one in adapter.explain()})
        if not metrics:
            raise DemoFailed(f"no policy in {choices.policies} is in force; `scaleproof check` tells why")
        header = introduction(choices)
        width = console.width if console.is_terminal else MAX_LINE
        pasting = [line for command in paste_lines(adapter.url, metrics) for line in folded(command, width)]
        say(console, *header, "Paste into a second terminal:", *pasting)
        view = view_for(choices, console, header, ["Paste into a second terminal:", *pasting])
        try:
            served = watch(choices, adapter, player, view)
        finally:
            say(console, "What could be asked while it ran:", *pasting)
    if not served:
        raise DemoFailed("no signal was served in that time")


def say(console: Console, *lines: str) -> None:
    """Lines as they are: not wrapped, so that they can be pasted."""
    for line in lines:
        console.print(line, soft_wrap=True, markup=False)


def write_policies(choices: Choices, folder: Path) -> None:
    """The policies at the tempo of the trace, each in a file of its own name."""
    folder.mkdir()
    files = sorted(one for one in choices.policies.glob("*.yaml") if not one.name.endswith(".test.yaml"))
    for file in files:
        text = at_tempo(file.read_text(encoding="utf-8"), choices.speed)
        if text:
            (folder / file.name).write_text(text, encoding="utf-8")
    if not any(folder.iterdir()):
        raise ValueError(f"{choices.policies} has no *.yaml with a policy; give a folder with policies")


def introduction(choices: Choices) -> list[str]:
    """What is to be seen, in a few lines."""
    pace = "played as it was recorded; replicas follow the recording, not the signal"
    if choices.speed != 1:
        times = f"{choices.speed:g}"
        pace = f"played {times} × as fast: rates × {times}, durations ÷ {times}; replicas follow the recording"
    return [
        "scaleproof demo: a bundled trace → an endpoint like Prometheus → `scaleproof serve` → what an HPA reads",
        pace,
        ATTRIBUTION,
    ]


def view_for(choices: Choices, console: Console, header: Sequence[str], footer: Sequence[str]) -> View:
    """JSON where asked for, the whole screen on a terminal, else plain lines."""
    if choices.output is Output.JSON:
        return JsonView()
    return ScreenView(console, header, footer) if console.is_terminal else LineView()


def watch(choices: Choices, adapter: AdapterProcess, player: TracePlayer, view: View) -> bool:
    """Show an observation a second until the time is over; whether a signal was served at all."""
    recorder = Recorder()
    begun = time.monotonic()
    served, failures = False, 0
    with view:
        while (left := (choices.seconds or inf) - (time.monotonic() - begun)) > 0:
            try:
                seen = observe(adapter, player, recorder)
                failures = 0
            except AdapterFailed:
                adapter.check_alive()
                failures += 1
                if failures >= MAX_FAILURES_IN_A_ROW:
                    raise
            else:
                view.show(seen)
                served = served or any(one.value is not None for one in seen.policies)
            time.sleep(max(0.0, min(left, seconds_to_next_look(time.time()))))
    return served


def seconds_to_next_look(now: float) -> float:
    """Until LOOK_AT of the next second: policies are evaluated at full seconds, and by then that is done."""
    return 1.0 - (now - LOOK_AT) % 1.0


def observe(adapter: AdapterProcess, player: TracePlayer, recorder: Recorder) -> Observation:
    """Ask for the account of every signal, and for the signal itself as an HPA would."""
    now = time.time()
    accounts = sorted(
        adapter.explain(), key=lambda one: (one["namespace"], one["policy"], sorted(one["labels"].items()))
    )
    views = [recorder.view(one, adapter.ask_metric(one["namespace"], one["metric"])) for one in accounts]
    return Observation(now, player.trace_time(now) % player.trace.seconds, tuple(views))
