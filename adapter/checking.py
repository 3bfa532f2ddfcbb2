"""`scaleproof check`: every problem of policy files, with its place, in words or for machines.

With `--hpa` the policies are held against the HPAs that ask for them, with `--prometheus` against the series that there
are. Both need parts that a plain check does not load.
"""

import importlib
import json
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.console import Console

from adapter.bundled import load_presets
from adapter.core.policy_reading import LoadedPolicy, collisions, read_policies
from adapter.core.problem_forms import as_data, as_github
from adapter.core.problems import Position, Problem, Severity
from adapter.core.reach import Reach
from adapter.core.sarif import as_sarif
from adapter.policy_files import PolicyFolderError, policy_files, read_file, unreadable
from adapter.problem_reports import as_text

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """How the problems are shown."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


@dataclass
class Checked:
    """What a check has read and found: the policies that load, all problems, and each file's text."""

    loaded: list[LoadedPolicy] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    files: int = 0


def check_paths(paths: list[Path], reach: Reach | None = None) -> Checked:
    """Everything about files and folders, collisions between them included."""
    library = load_presets()
    checked = Checked()
    files: dict[Path, None] = {}
    for path in paths:
        try:
            files.update(dict.fromkeys(policy_files(path)))
        except PolicyFolderError as error:
            fix = "give a file or folder"
            checked.problems.append(Problem(str(path), Position(), "file-unreadable", str(error), fix))
    for file in files:
        text = read_into(checked, file)
        if text is not None:
            found, wrong = read_policies(text, str(file), library, reach)
            checked.loaded += found
            checked.problems += wrong
    checked.problems += collisions(checked.loaded)
    checked.files = len(files)
    return checked


def read_into(checked: Checked, file: Path) -> str | None:
    """The text of a file, kept for excerpts; None, and a problem, where it cannot be read."""
    try:
        text = read_file(file)
    except (OSError, ValueError) as error:
        checked.problems.append(unreadable(file, error))
        return None
    checked.texts[str(file)] = text
    return text


@app.command()
def check(
    paths: Annotated[list[Path], typer.Argument(help="Policy files, or folders with them.")],
    output: Annotated[Output, typer.Option(help="text, json, github (workflow commands) or sarif.")] = Output.TEXT,
    hpa: Annotated[list[Path] | None, typer.Option(help="HPA manifests to hold the policies against.")] = None,
    kubernetes: Annotated[str, typer.Option(help="Version of the cluster of the HPAs.")] = "1.36",
    prometheus: Annotated[str | None, typer.Option(help="URL of a Prometheus to ask for the series.")] = None,
    config: Annotated[Path | None, typer.Option(help="File of serve --config: its sources and tenancy hold.")] = None,
) -> None:
    """Check policies. Exit status: 0 fine or warnings, 1 errors, 2 unreadable input, 3 Prometheus did not answer."""
    checked = check_paths(paths, _reach(config) if config is not None else None)
    for file in [one for path in hpa or [] for one in _hpa_files(path, checked)]:
        text = read_into(checked, file)
        if text is not None:
            try:
                checked.problems += _joint_lints().lint_together(checked.loaded, text, str(file), kubernetes)
            except ValueError as error:
                raise typer.BadParameter(str(error), param_hint="--kubernetes") from error
    if prometheus is not None:
        checked.problems += _ask(checked.loaded, prometheus)
    show(checked, output)
    raise typer.Exit(exit_status(checked.problems))


def _hpa_files(path: Path, checked: Checked) -> list[Path]:
    try:
        return policy_files(path)
    except PolicyFolderError as error:
        checked.problems.append(Problem(str(path), Position(), "file-unreadable", str(error), "give an HPA manifest"))
        return []


def _joint_lints() -> Any:
    """The simulator's part that knows HPAs, by name: the shell does not depend on it."""
    return importlib.import_module("sim.policy_hpa_lints")


def _ask(policies: list[LoadedPolicy], url: str) -> list[Problem]:
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).netloc:
        raise typer.BadParameter(f'"{url}" is no http or https address', param_hint="--prometheus")
    questions = importlib.import_module("adapter.series_questions")
    found: list[Problem] = questions.ask_prometheus(policies, url)
    return found


def _reach(config: Path) -> Reach:
    """What a server with this configuration lets policies ask and read."""
    settings = importlib.import_module("adapter.settings")
    try:
        found: Reach = settings.reach_of(config)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--config") from error
    return found


def exit_status(problems: list[Problem]) -> int:
    """0 fine, 1 errors, 2 a path that cannot be read, 3 if Prometheus did not answer and all else is fine."""
    codes = {problem.code for problem in problems if problem.severity is Severity.ERROR}
    if "file-unreadable" in codes:
        return 2
    if codes == {"prometheus-unanswered"}:
        return 3
    return 1 if codes else 0


def show(checked: Checked, output: Output) -> None:
    """Write all problems to standard output."""
    match output:
        case Output.JSON:
            typer.echo(_json({"problems": [as_data(problem) for problem in checked.problems]}))
        case Output.SARIF:
            typer.echo(_json(as_sarif(checked.problems, version("scaleproof"))))
        case Output.GITHUB:
            for problem in checked.problems:
                typer.echo(as_github(problem))
        case Output.TEXT:
            _show_text(checked)


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, ensure_ascii=False)


def _show_text(checked: Checked) -> None:
    console = Console(soft_wrap=True, highlight=False, markup=False, emoji=False)
    lines = {file: text.splitlines() for file, text in checked.texts.items()}
    for problem in checked.problems:
        shown = as_text(problem, lines.get(problem.file, ()))
        if console.is_terminal:
            console.print(shown)
        else:
            typer.echo(shown.plain)
    errors = sum(problem.severity is Severity.ERROR for problem in checked.problems)
    counts = [
        _count(checked.files, "file"),
        _count(len(checked.loaded), "good policy"),
        _count(errors, "error"),
        _count(len(checked.problems) - errors, "warning"),
    ]
    typer.echo(", ".join(counts))


def _count(number: int, noun: str) -> str:
    plural = noun[:-1] + "ies" if noun.endswith("y") else noun + "s"
    return f"{number} {noun if number == 1 else plural}"
