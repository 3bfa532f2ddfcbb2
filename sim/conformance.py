"""`scaleproof conformance FILE…`: holds the HPA model against recorded decisions of a real controller.

Reads .jsonl and .jsonl.gz, prints the first differences and the counts. Exit status: 0 all equal, 1 something differs,
2 bad input, 3 something is not modelled. Knows files and the terminal; comparing is sim/hpa/conformance.py's.
"""

import gzip
import json
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sim.hpa.conformance import Difference, Report, VectorError, compare_line
from sim.hpa.versions import DEFAULT_VERSION, NotModelledError, Version, find_version

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """How the report is written."""

    TEXT = "text"
    JSON = "json"


@app.command()
def conformance(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="Vectors, .jsonl or .jsonl.gz.")],
    output: Annotated[Output, typer.Option(help="text or json.")] = Output.TEXT,
    kubernetes: Annotated[str, typer.Option(metavar="VERSION", help="The Kubernetes version to be.")] = DEFAULT_VERSION,
    show: Annotated[int, typer.Option(min=0, help="How many differences to show.")] = 10,
) -> None:
    """Compare the HPA model with recorded decisions of the real controller, field by field."""
    try:
        version = find_version(kubernetes)
        report = _compare(files, version)
    except (NotModelledError, VectorError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from None
    if output is Output.JSON:
        typer.echo(json.dumps(_as_json(report, version, show), ensure_ascii=False))
    else:
        typer.echo("\n".join(_as_text(report, version, show)))
    raise typer.Exit(report.exit_status)


def _compare(files: list[Path], version: Version) -> Report:
    report = Report()
    for file in files:
        line = 0
        try:
            for line, text in enumerate(_lines(file), start=1):
                compare_line(text, str(file), line, version, report)
        except (OSError, EOFError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise VectorError(str(file), line + 1, reason) from error
    return report


def _lines(file: Path) -> Iterator[str]:
    with gzip.open(file, "rb") if file.suffix == ".gz" else file.open("rb") as lines:
        for line in lines:
            yield line.decode()


def _as_json(report: Report, version: Version, show: int) -> dict[str, object]:
    return {
        "kubernetes": version.name,
        "verified": version.is_verified,
        "scenarios": report.scenarios,
        "steps": report.steps,
        "mismatches": report.mismatches,
        "unmodelled": sum(report.unmodelled.values()),
        "unmodelled_reasons": dict(sorted(report.unmodelled.items())),
        "differences": [asdict(difference) for difference in report.differences[:show]],
    }


def _as_text(report: Report, version: Version, show: int) -> Iterator[str]:
    for difference in report.differences[:show]:
        yield from _difference_lines(difference)
    if len(report.differences) > show:
        yield f"… {len(report.differences) - show} more differing fields; --show N shows them"
    for reason, count in sorted(report.unmodelled.items()):
        yield f"unmodelled {count}: {reason}"
    if not version.is_verified:
        yield version.note
    yield f"scenarios {report.scenarios} steps {report.steps} mismatches {report.mismatches}"


def _difference_lines(difference: Difference) -> Iterator[str]:
    where = f"{difference.file}:{difference.line}: {difference.scenario}"
    at = f" step {difference.step}" if difference.step >= 0 else ""
    yield f"{where}{at}: {difference.field}"
    yield f"    expected  {json.dumps(difference.expected, ensure_ascii=False)}"
    yield f"    got       {json.dumps(difference.got, ensure_ascii=False)}"
    for text in difference.account:
        yield f"    account   {text}"
