"""`scaleproof replay`: what a policy and its HPA would have done over a trace, sync by sync, with scores.

Exit status: 0 fine, 2 bad usage or input, 3 inconclusive: the trace cannot show what the policy would have done.
"""

import dataclasses
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from adapter.core.units import parse_duration
from sim.faults import Fault
from sim.hpa.versions import DEFAULT_VERSION, NotModelledError
from sim.policy_files import FileRefused, gpus_per_replica
from sim.replay.chart import Chart
from sim.replay.decision_log import JsonLines, Log, LogError, ParquetLog, TextLog
from sim.replay.findings import Watch
from sim.replay.parameters import Mode, Parameters, ReplayError, Startup, parse_startup
from sim.replay.runner import Run
from sim.replay.steps import SyncStep
from sim.replay.subject import Subject, load_subject
from sim.replay.summary import Summary
from sim.report.document import ReportError
from sim.report.making import ReportMaker, parse_fault, play_ghost
from sim.scores import Scorer
from sim.traces.flags import with_trace_flags
from sim.traces.options import TraceOptions
from sim.traces.trace import TraceError

app = typer.Typer(add_completion=False)

TEXT_LINES = 40
LONG_RUN_SYNCS = 5000
CHART_WIDTH = 100


class Output(StrEnum):
    """How the run is written."""

    TEXT = "text"
    JSONL = "jsonl"
    JSON = "json"
    PARQUET = "parquet"


class LogLines(StrEnum):
    """Which syncs the text shows."""

    CHANGES = "changes"
    ALL = "all"
    NONE = "none"


def _duration(text: str) -> float:
    try:
        return 0.0 if text == "0" else parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _instant(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write e.g. 2026-11-03T09:00:00Z") from error
    if found.tzinfo is None:
        raise typer.BadParameter(f'"{text}" has no zone; write e.g. 2026-11-03T09:00:00Z or +01:00')
    return found


def _startup(text: str) -> Startup:
    try:
        return parse_startup(text)
    except ValueError as error:
        raise typer.BadParameter(f"{error}; write e.g. 120s or lognormal:180s,420s") from error


def _option(text: str, parser: Callable[[str], Any] = _duration, metavar: str = "DURATION") -> Any:
    return typer.Option(help=text, parser=parser, metavar=metavar)


@app.command()
@with_trace_flags
def replay(
    policy: Annotated[Path, typer.Option(help="The policy file.")],
    trace: Annotated[Path, typer.Option(help="The trace: CSV with the header t_s,INPUT,… or see docs/traces.md.")],
    trace_options: TraceOptions,
    hpa: Annotated[Path | None, typer.Option(help="The HPA; without it the one `scaleproof new` writes.")] = None,
    mode: Annotated[Mode, typer.Option(help="What is played of the trace.")] = Mode.AS_RECORDED,
    output: Annotated[
        Output, typer.Option(help="text, jsonl (an object a sync), json (summary) or parquet.")
    ] = Output.TEXT,
    to: Annotated[Path | None, typer.Option(help="Write there instead of to standard output.")] = None,
    log: Annotated[LogLines, typer.Option(help="Which syncs the text shows.")] = LogLines.CHANGES,
    sync: Annotated[float, _option("Sync period of the HPA.")] = "15s",  # type: ignore[assignment]
    hpa_phase: Annotated[float, _option("First sync after the first tick.")] = "0",  # type: ignore[assignment]
    hpa_latency: Annotated[float, _option("How long a reconcile takes.")] = "0",  # type: ignore[assignment]
    scrape: Annotated[
        float | None, _option("Scrape the trace anew at this interval; else its rows are the samples.")
    ] = None,
    scrape_phase: Annotated[float, _option("Phase of the scrapes.")] = "0",  # type: ignore[assignment]
    fill_forward: Annotated[
        float | None, _option("A value stands in for missing rows and cells so long; else nothing does.")
    ] = None,
    offset: Annotated[float | None, _option("Queries are asked this long before the tick; else the policy's.")] = None,
    evaluation_phase: Annotated[float, _option("Ticks are at k × every + this.")] = "0",  # type: ignore[assignment]
    start: Annotated[
        datetime | None,
        _option("When the trace's zero was, e.g. 2026-11-03T09:00:00Z, for schedules.", _instant, "TIME"),
    ] = None,
    startup: Annotated[
        Startup | None,
        _option("Pod start-up: 120s, or lognormal:P50,P95; else the policy's cold_start.", _startup, "STARTUP"),
    ] = None,
    replicas: Annotated[
        int | None, typer.Option(help="Replicas at the start; else recorded, else minReplicas.")
    ] = None,
    kubernetes: Annotated[str, typer.Option(help="Version of the HPA controller.")] = DEFAULT_VERSION,
    seed: Annotated[int, typer.Option(help="Seed of what is drawn.")] = 1,
    gpus_per_replica: Annotated[
        float | None, typer.Option(min=0, help="For GPU-hours; else the policy's budget, else 1.")
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Also write the run as one HTML file, for a browser.")] = None,
    baseline_policy: Annotated[
        Path | None, typer.Option(help="For the report: another policy on the same trace, as a ghost beside the run.")
    ] = None,
    baseline_hpa: Annotated[Path | None, typer.Option(help="For the report: another HPA, as a ghost.")] = None,
    fault: Annotated[
        list[str] | None, typer.Option(help='As in tests, e.g. "{kind: outage, at: 10m, for: 5m}"; repeatable.')
    ] = None,
) -> None:
    """Replay a trace through a policy and its HPA. Exit status: 0 fine, 2 bad input, 3 inconclusive."""
    try:
        parameters = Parameters(
            mode, kubernetes, sync, hpa_phase, hpa_latency, scrape, scrape_phase, fill_forward, offset,
            evaluation_phase, startup, replicas, seed,
        )  # fmt: skip
        options = trace_options if start is None else dataclasses.replace(trace_options, epoch=start.timestamp())
        subject = load_subject(policy, trace, hpa, kubernetes, options)
        faults = tuple(parse_fault(one) for one in fault or ())
        run = Run(subject.policies, subject.trace, subject.hpa, parameters, faults)
        name = str(baseline_policy or policy)
        base = None
        if baseline_policy is not None or baseline_hpa is not None:
            base = load_subject(baseline_policy or policy, trace, baseline_hpa or hpa, kubernetes, options)
        maker = _maker(report, run, faults, base, name, gpus_per_replica)
        summary = _play(subject, run, output, log, to, _gpus(subject, gpus_per_replica), maker)
    except (FileRefused, TraceError, ReplayError, NotModelledError, LogError, ReportError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    raise typer.Exit(0 if summary.is_conclusive else 3)


def _gpus(subject: Subject, said: float | None) -> float:
    return said if said is not None else gpus_per_replica(subject.policies[0])


def _maker(
    report: Path | None, run: Run, faults: tuple[Fault, ...], base: Subject | None, name: str, gpus: float | None
) -> ReportMaker | None:
    if report is None:
        if base is not None:
            raise ReplayError("a baseline is shown in a report: give --report FILE.html too")
        return None
    ghost = None
    if base is not None:
        other = Run(base.policies, base.trace, base.hpa, run.parameters, faults)
        ghost = play_ghost(f"{name}, HPA {base.hpa_words}", other, _gpus(base, gpus), len(run.hpa.metrics))
    return ReportMaker(report, run, faults, ghost)


def _play(
    subject: Subject,
    run: Run,
    output: Output,
    lines: LogLines,
    to: Path | None,
    gpus: float,
    maker: ReportMaker | None = None,
) -> Summary:
    with ExitStack() as stack:
        write = _writer(stack, to, output)
        log = _log(subject, run, output, lines, to, write)
        scorer = Scorer(run.parameters.sync + run.parameters.hpa_latency, run.hpa.maximum, gpus)
        watch, chart = Watch(run.hpa), Chart(run.expected_syncs(), CHART_WIDTH)
        for step in _with_progress(run):
            scorer.add(step)
            watch.add(step)
            if maker is not None:
                maker.add(step)
            if output is Output.TEXT:
                chart.add(step)
            if log is not None:
                log.add(step)
        if log is not None:
            log.close()
        summary = Summary(subject, run, scorer.scores(), watch.findings(run), gpus)
        if maker is not None:
            maker.finish(summary)
        if output is Output.JSON:
            write(json.dumps(summary.as_data(), indent=2, ensure_ascii=False) + "\n")
        elif output is Output.TEXT:
            write("\n".join(["", *chart.lines(), "", *summary.lines()]) + "\n")
        else:
            typer.echo("\n".join(summary.lines()), err=True)
    return summary


def _writer(stack: ExitStack, to: Path | None, output: Output) -> Callable[[str], object]:
    if to is None or output is Output.PARQUET:
        return sys.stdout.write
    try:
        return stack.enter_context(to.open("w", encoding="utf-8")).write
    except OSError as error:
        raise LogError(f"{to}: {error.strerror or error}") from error


def _log(
    subject: Subject, run: Run, output: Output, lines: LogLines, to: Path | None, write: Callable[[str], object]
) -> Log | None:
    match output:
        case Output.JSONL:
            return JsonLines(write, run.parameters.mode)
        case Output.PARQUET:
            if to is None:
                raise LogError("Parquet is written to a file: give --to FILE")
            names = [metric.name for metric in run.hpa.metrics]
            return ParquetLog(to, names, run.parameters.mode, "; ".join((*subject.said, *run.notes)))
        case Output.TEXT if lines is not LogLines.NONE:
            is_whole = lines is LogLines.ALL
            return TextLog(write, is_whole, sys.maxsize if is_whole else TEXT_LINES)
        case _:
            return None


def _with_progress(run: Run) -> Iterator[SyncStep]:
    """The syncs, with a bar on the error stream of a terminal where there are many."""
    total = run.expected_syncs()
    if total < LONG_RUN_SYNCS or not sys.stderr.isatty():
        yield from run.steps()
        return
    from rich.console import Console  # slow to import, and for a terminal only
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("syncs", total=total)
        for count, step in enumerate(run.steps(), start=1):
            yield step
            if count % 1000 == 0:
                progress.update(task, completed=count)
