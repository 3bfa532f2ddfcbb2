"""`scaleproof diff BASE CANDIDATE --trace …`: what a change does on traces, and a verdict by stated thresholds.

Exit status: 0 within the thresholds, 1 one is broken, 2 something cannot be used, 3 inconclusive.
"""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from adapter.core.expressions import Expression, ExpressionError, parse_expression
from sim.comparing.comparison import DEFAULT_THRESHOLDS, Compared, changed_policies, compare
from sim.comparing.rendering import as_data, as_markdown, as_text, verdict
from sim.comparing.revisions import Key, Revision, RevisionError, load_revision
from sim.hpa.versions import DEFAULT_VERSION, NotModelledError
from sim.policy_files import FileRefused
from sim.replay.parameters import Mode, Parameters, ReplayError, parse_startup
from sim.traces.opening import open_trace
from sim.traces.trace import Trace, TraceError

EXIT = {"ok": 0, "worse": 1, "inconclusive": 3}


class Output(StrEnum):
    """How the comparison is written."""

    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


app = typer.Typer(add_completion=False)


@app.command()
def diff(
    base: Annotated[str, typer.Argument(help="A file, a folder, or a git ref (REF or REF:PATH).")],
    candidate: Annotated[str, typer.Argument(help="The same, of what would be merged.")],
    trace: Annotated[
        list[str], typer.Option(help="A trace for every changed policy, or NAMESPACE/NAME=FILE for one; repeatable.")
    ],
    path: Annotated[str, typer.Option(help="Where the policies are in a git ref that names no path.")] = "policies",
    threshold: Annotated[
        list[str] | None,
        typer.Option(help='What must hold, e.g. "gpu_hours <= base_gpu_hours"; repeatable, in place of the defaults.'),
    ] = None,
    output: Annotated[Output, typer.Option(help="text, markdown or json.")] = Output.TEXT,
    summary: Annotated[Path | None, typer.Option(help="Also append the markdown to this file.")] = None,
    gpu_hour_price: Annotated[float | None, typer.Option(min=0, help="Adds a row with the cost.")] = None,
    mode: Annotated[Mode, typer.Option(help="What is played of the traces.")] = Mode.AS_RECORDED,
    startup: Annotated[str | None, typer.Option(help="Pod start-up: 120s, or lognormal:P50,P95.")] = None,
    replicas: Annotated[int | None, typer.Option(help="Replicas at the start.")] = None,
    kubernetes: Annotated[str, typer.Option(help="Version of the HPA controller.")] = DEFAULT_VERSION,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn.")] = 1,
) -> None:
    """Compare policies, presets and HPAs of two revisions on traces: decisions, scores, cost, verdict."""
    try:
        thresholds = [_threshold(one) for one in threshold or DEFAULT_THRESHOLDS]
        drawn = None if startup is None else parse_startup(startup)
        parameters = Parameters(mode, kubernetes, startup=drawn, replicas=replicas, seed=seed)
        before, after = load_revision(base, path), load_revision(candidate, path)
        traces = [_trace(one) for one in trace]
        changes = changed_policies(before, after)
        compared = _compared(before, after, [*changes["changed"], *changes["added"]], traces, parameters, thresholds)
    except (FileRefused, RevisionError, TraceError, ReplayError, NotModelledError, ValueError) as error:
        _refuse(f"error: {error}")
    markdown = as_markdown(changes, compared, gpu_hour_price)
    match output:
        case Output.JSON:
            typer.echo(json.dumps(as_data(changes, compared, gpu_hour_price), indent=2, ensure_ascii=False))
        case Output.MARKDOWN:
            typer.echo(markdown, nl=False)
        case Output.TEXT:
            typer.echo(as_text(changes, compared, gpu_hour_price))
    if summary is not None:
        _append(summary, markdown)
    raise typer.Exit(EXIT[verdict(compared)])


def _threshold(text: str) -> Expression:
    try:
        return parse_expression(text)
    except ExpressionError as error:
        raise ValueError(f"--threshold {text!r}: {error} (at character {error.column})") from error


def _trace(text: str) -> tuple[str | None, Trace]:
    """The policy a trace is for, None for all, and the trace."""
    name, equals, file = text.partition("=")
    if equals and "/" in name and not Path(text).exists():
        return name, open_trace(Path(file))
    return None, open_trace(Path(text))


def _compared(
    base: Revision,
    candidate: Revision,
    keys: list[Key],
    traces: list[tuple[str | None, Trace]],
    parameters: Parameters,
    thresholds: list[Expression],
) -> list[Compared]:
    found = []
    for key in keys:
        own = [trace for name, trace in traces if name == "/".join(key)]
        for trace in own or [trace for name, trace in traces if name is None]:
            found.append(compare(key, base, candidate, trace, parameters, thresholds))
        if not own and all(name is not None for name, _ in traces):
            raise ReplayError(f"there is no trace for {'/'.join(key)}; give --trace {'/'.join(key)}=FILE")
    return found


def _append(file: Path, text: str) -> None:
    try:
        with file.open("a", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        _refuse(f"--summary {file} cannot be written: {error.strerror or error}")


def _refuse(words: str) -> NoReturn:
    typer.echo(words, err=True)
    raise typer.Exit(2)
