"""`scaleproof check`: every problem of policy files, with its place, in words or as JSON."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from adapter.bundled import load_presets
from adapter.core.policy_reading import LoadedPolicy, collisions, read_policies
from adapter.core.problems import Position, Problem, Severity, has_errors
from adapter.policy_folder import PolicyFolderError, policy_files, read_file, unreadable

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """How the problems are shown."""

    TEXT = "text"
    JSON = "json"


def check_paths(paths: list[Path]) -> tuple[list[LoadedPolicy], list[Problem], int]:
    """The policies, all problems and the number of files, of files and folders; collisions between them included."""
    library = load_presets()
    loaded: list[LoadedPolicy] = []
    problems: list[Problem] = []
    files: dict[Path, None] = {}
    for path in paths:
        try:
            files.update(dict.fromkeys(policy_files(path)))
        except PolicyFolderError as error:
            problems.append(Problem(str(path), Position(), "file-unreadable", str(error), "give a file or folder"))
    for file in files:
        try:
            text = read_file(file)
        except (OSError, ValueError) as error:
            problems.append(unreadable(file, error))
            continue
        found, wrong = read_policies(text, str(file), library)
        loaded += found
        problems += wrong
    return loaded, problems + collisions(loaded), len(files)


@app.command()
def check(
    paths: Annotated[list[Path], typer.Argument(help="Policy files, or folders with them.")],
    output: Annotated[Output, typer.Option(help="text or json.")] = Output.TEXT,
) -> None:
    """Check policies. Exit status: 0 fine (warnings allowed), 1 errors found, 2 a path that cannot be read."""
    loaded, problems, files = check_paths(paths)
    if output is Output.JSON:
        typer.echo(json.dumps({"problems": [_as_data(problem) for problem in problems]}, indent=2, ensure_ascii=False))
    else:
        _show(loaded, problems, files)
    if any(problem.code == "file-unreadable" for problem in problems):
        raise typer.Exit(2)
    raise typer.Exit(1 if has_errors(problems) else 0)


def _as_data(problem: Problem) -> dict[str, object]:
    return {
        "file": problem.file,
        "line": problem.position.line,
        "column": problem.position.column,
        "code": problem.code,
        "severity": problem.severity,
        "message": problem.message,
        "fix": problem.fix,
    }


def _show(loaded: list[LoadedPolicy], problems: list[Problem], files: int) -> None:
    for problem in problems:
        typer.echo(str(problem))
    errors = sum(problem.severity is Severity.ERROR for problem in problems)
    warnings = len(problems) - errors
    counts = [
        _count(files, "file"),
        _count(len(loaded), "good policy"),
        _count(errors, "error"),
        _count(warnings, "warning"),
    ]
    typer.echo(", ".join(counts))


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"
