"""`scaleproof record`: a policy's inputs from a live Prometheus, on the policy's grid, as a trace for `replay`.

Exit status: 0 recorded, 2 bad usage or input, 3 Prometheus did not answer (run again to go on).
"""

import re
import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import typer

from adapter import clock
from adapter.checking import check_paths
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.problems import Severity
from adapter.core.recordings import RecordingHeader, policy_hash, queries_of
from adapter.core.units import parse_duration
from adapter.prometheus import PrometheusSource
from adapter.recorder import (
    PacedSource,
    RecordError,
    UnansweredError,
    channel_queries,
    finish,
    part_header,
    record,
)

app = typer.Typer(add_completion=False)

MAX_CHUNK_TICKS = 10_000
"""Prometheus refuses a range query of more than 11,000 points."""
_NUMBER = re.compile(r"\d+(\.\d+)?")


@app.command("record")
def record_command(
    policy: Annotated[Path, typer.Option(help="The policy file.")],
    prometheus: Annotated[str, typer.Option(help="URL of Prometheus.")],
    to: Annotated[Path, typer.Option(help="File to write, e.g. week.jsonl.gz.")],
    last: Annotated[str | None, typer.Option(help="Record the last so long, e.g. 24h.")] = None,
    start: Annotated[str | None, typer.Option(help="First tick: 2026-03-01T08:00:00Z or epoch seconds.")] = None,
    end: Annotated[str | None, typer.Option(help="Last tick; else now.")] = None,
    name: Annotated[str | None, typer.Option(help="Which policy, where the file has several.")] = None,
    chunk: Annotated[str, typer.Option(help="How much is asked for at once.")] = "1h",
    queries_per_second: Annotated[float, typer.Option(min=0.01, max=1000, help="At most so many.")] = 5.0,
    served: Annotated[bool, typer.Option(help="Also what scaleproof served, where Prometheus scrapes it.")] = False,
    hpa: Annotated[str | None, typer.Option(help="Also the replicas this HPA wanted (kube-state-metrics).")] = None,
) -> None:
    """Record what a policy asks. Exit status: 0 recorded, 2 bad input, 3 Prometheus did not answer."""
    source = None
    try:
        loaded = _policy(policy, name)
        source = PrometheusSource(prometheus, pool_size=1)
        paced = PacedSource(source, queries_per_second)
        part = to.with_name(to.name + ".part")
        namespace, own_name = loaded.policy.key
        channels = channel_queries(namespace, own_name, hpa, served)
        header = _header(loaded, part, _span(last, start, end), parse_duration(chunk), paced, channels)
        for done, total in record(paced, header, part):
            _progress(done, total)
        whole = finish(part, to)
    except UnansweredError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(3) from error
    except (RecordError, ValueError, OSError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    finally:
        if source is not None:
            source.close()
    size = to.stat().st_size
    ticks = round((whole.end - whole.start) / whole.every) + 1
    typer.echo(f"{to}: {ticks} ticks of {whole.policy}, {whole.lines} lines, {size} bytes, sha256 {whole.sha256[:12]}…")


def _policy(path: Path, name: str | None) -> LoadedPolicy:
    checked = check_paths([path])
    errors = [str(problem) for problem in checked.problems if problem.severity is Severity.ERROR]
    if errors:
        raise RecordError("\n".join(errors))
    found = [one for one in checked.loaded if name in (None, one.policy.metadata.name)]
    if len(found) != 1:
        names = ", ".join(one.policy.metadata.name for one in checked.loaded) or "none"
        raise RecordError(f"{path} has {names}; say with --name which policy is meant")
    return found[0]


@dataclass(frozen=True, slots=True)
class Span:
    """From when (or for how long) until when; the end is the time of day where it is not told."""

    start: float | None
    length: float
    end: float | None


def _span(last: str | None, start: str | None, end: str | None) -> Span:
    if (last is None) == (start is None):
        raise RecordError("say how far back: give --last, e.g. 24h, or --start")
    until = None if end is None else _time(end)
    return Span(None, parse_duration(last), until) if last is not None else Span(_time(start or ""), 0.0, until)


def _time(text: str) -> float:
    if _NUMBER.fullmatch(text):
        return float(text)
    try:
        found = datetime.fromisoformat(text)
    except ValueError as error:
        raise RecordError(f'"{text}" is no time; write e.g. 2026-03-01T08:00:00Z or epoch seconds') from error
    if found.tzinfo is None:
        raise RecordError(f'"{text}" has no zone; write e.g. {text}Z or {text}+01:00')
    return found.astimezone(UTC).timestamp()


def _header(
    loaded: LoadedPolicy,
    part: Path,
    span: Span,
    chunk: float,
    source: PacedSource,
    channels: dict[str, str],
) -> RecordingHeader:
    """The header of what is to be recorded; one begun with the same words but for the time of day is gone on with."""
    plan = loaded.plan
    until = clock.now() if span.end is None else min(span.end, clock.now())
    begin = until - span.length if span.start is None else span.start
    first_tick, last_tick = -int(-begin // plan.every), int(until // plan.every)
    if first_tick > last_tick:
        raise RecordError(f"between start and end there is no tick (one every {plan.every:g} s); give a longer span")
    there = part_header(part)
    header = RecordingHeader(
        policy="/".join(loaded.policy.key),
        policy_sha256=policy_hash(loaded.policy),
        queries=queries_of(plan),
        start=first_tick * plan.every,
        end=last_tick * plan.every,
        every=plan.every,
        offset=plan.offset,
        lookback=plan.lookback,
        memory_ticks=plan.memory_ticks,
        scrape_interval=loaded.policy.spec.scrape_interval,
        chunk_ticks=max(1, min(MAX_CHUNK_TICKS, int(chunk // plan.every))),
        versions={},
        channels=channels,
    )
    if there is not None and span.end is None:
        header = replace(header, start=there.start if span.start is None else header.start, end=there.end)
    versions = there.versions if there is not None else _versions(source)
    return replace(header, versions=versions)


def _versions(source: PacedSource) -> dict[str, str]:
    answer = source.instant("prometheus_build_info", clock.now())
    told = sorted({series.label("version") for series in answer.series})
    return {"scaleproof": version("scaleproof"), "prometheus": told[0] if len(told) == 1 else "unknown"}


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        typer.echo(f"\rchunk {done} of {total}" + ("\n" if done == total else ""), nl=False, err=True)
    elif done == total or done % max(1, total // 10) == 0:
        typer.echo(f"chunk {done} of {total}", err=True)
