"""`scaleproof test PATH…`: runs the tests beside policies, and tells each expectation with what was found.

Exit status: 0 all passed, 1 one failed or is toothless, 2 a file that cannot be used, 3 inconclusive.
"""

import json
import re
import sys
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from adapter.core.problem_forms import as_data as problem_data
from adapter.core.problem_forms import as_github
from adapter.core.problems import Problem, has_errors
from adapter.core.sarif import as_sarif
from sim.policy_files import load_library
from sim.policy_tests.expectations import Verdict, worst
from sim.policy_tests.reading import TestFile, find_test_files, read_test_file
from sim.policy_tests.reporting import as_data, as_junit, as_problems, as_text, summary
from sim.policy_tests.running import FileResult, run_file

EXIT = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.INCONCLUSIVE: 3}


class Output(StrEnum):
    """How the results are written."""

    TEXT = "text"
    JSON = "json"
    GITHUB = "github"
    SARIF = "sarif"


app = typer.Typer(add_completion=False)


@app.command()
def test(
    paths: Annotated[list[Path], typer.Argument(help="Test files, or folders with *.test.yaml.")],
    output: Annotated[Output, typer.Option(help="text, json, github (workflow commands) or sarif.")] = Output.TEXT,
    run: Annotated[str, typer.Option(help="Only tests whose name this regular expression finds.")] = "",
    mutate: Annotated[
        bool, typer.Option("--mutate", help="Also make policies wrong: a test that passes all the same is toothless.")
    ] = False,
    junit: Annotated[Path | None, typer.Option(help="Also write the results as JUnit XML.")] = None,
) -> None:
    """Run the tests of policies: traces, faults and what must come of them."""
    try:
        wanted = re.compile(run)
        files, problems = _read(paths)
    except re.error as error:
        _refuse(f"--run {run!r} is no regular expression: {error}")
    except FileNotFoundError as error:
        _refuse(f"{error} does not exist; give test files or folders with *.test.yaml")
    if problems:
        # A document of JSON or SARIF must stay one, so warnings beside results go to the error stream.
        _show(problems, output if has_errors(problems) or output is Output.GITHUB else Output.TEXT)
    if has_errors(problems):
        raise typer.Exit(2)
    if not files:
        _refuse(f"no *.test.yaml in {', '.join(map(str, paths))}; write one beside a policy, see docs/testing.md")
    results = [run_file(file, lambda name: bool(wanted.search(name)), mutate, _progress()) for file in files]
    if not any(result.results for result in results):
        _refuse(f"--run {run!r} finds no test")
    results = [result for result in results if result.results]
    _tell(results, output)
    if junit is not None:
        _write(junit, as_junit(results))
    raise typer.Exit(_status(results))


def _read(paths: list[Path]) -> tuple[list[TestFile], list[Problem]]:
    library = load_library()
    files, problems = [], []
    for path in find_test_files(paths):
        file, wrong = read_test_file(path, library)
        problems += wrong
        if file is not None:
            files.append(file)
    return files, problems


def _status(results: list[FileResult]) -> int:
    verdict = worst(result.verdict for result in results)
    is_toothless = not all(result.has_teeth for result in results)
    return 1 if is_toothless else EXIT[verdict]


def _progress() -> "_Progress":
    return _Progress(sys.stderr.isatty())


class _Progress:
    """The name of the test that runs, on a terminal."""

    def __init__(self, is_shown: bool) -> None:
        self._is_shown = is_shown

    def __call__(self, name: str) -> None:
        if self._is_shown:
            print(f"\r\033[K{name[:100]}\r", end="", file=sys.stderr, flush=True)  # noqa: T201 - for who waits


def _tell(results: list[FileResult], output: Output) -> None:
    match output:
        case Output.JSON:
            typer.echo(json.dumps(as_data(results), indent=2))
        case Output.TEXT:
            typer.echo(as_text(results))
        case _:
            problems = as_problems(results)
            if output is Output.SARIF or problems:
                _show(problems, output)
            # Beside the annotations a log says what ran; SARIF is a document and stands alone.
            typer.echo(summary(results), err=output is Output.SARIF)


def _show(problems: list[Problem], output: Output) -> None:
    match output:
        case Output.JSON:
            typer.echo(json.dumps({"problems": [problem_data(one) for one in problems]}, indent=2))
        case Output.GITHUB:
            typer.echo("\n".join(map(as_github, problems)))
        case Output.SARIF:
            typer.echo(json.dumps(as_sarif(problems, version("scaleproof")), indent=2, ensure_ascii=False))
        case Output.TEXT:
            typer.echo("\n".join(map(str, problems)), err=True)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        _refuse(f"--junit {path} cannot be written: {error.strerror or error}")


def _refuse(words: str) -> NoReturn:
    typer.echo(words, err=True)
    raise typer.Exit(2)
