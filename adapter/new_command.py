"""`scaleproof new`: writes a policy, its HPA and its test for a workload, from flags or answers, never over a file."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from adapter.bundled import load_presets
from adapter.core.policy_fields import KubernetesName
from adapter.core.policy_reading import read_policies
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Severity
from adapter.core.units import parse_duration, show_duration
from adapter.new_policy import Answers, engines, hpa_text, policy_text
from adapter.new_test import test_text

app = typer.Typer(add_completion=False)

FIRST_WITH_TOLERANCE = (1, 35)


@app.command()
def new(
    name: Annotated[str, typer.Option(help="Name of policy, HPA and (with -replicas) metric.")] = "",
    namespace: Annotated[str, typer.Option(help="Namespace of the workload.")] = "",
    deployment: Annotated[str, typer.Option(help="The Deployment; its name is the policy's where left out.")] = "",
    engine: Annotated[str, typer.Option(help="Inference engine: a family of presets, e.g. vllm.")] = "",
    model: Annotated[str, typer.Option(help="Served model name; the Deployment's pods where left out.")] = "",
    per_replica: Annotated[float, typer.Option(help="Requests in flight one replica should hold.", min=0.001)] = 10.0,
    rate_per_replica: Annotated[float | None, typer.Option(help="Measured requests per second of one replica.")] = None,
    cold_start: Annotated[str, typer.Option(help="Time until a new replica serves.")] = "2m",
    scrape_interval: Annotated[str, typer.Option(help="Scrape interval of Prometheus.")] = "15s",
    minimum: Annotated[int, typer.Option("--min", help="Fewest replicas.", min=1)] = 1,
    maximum: Annotated[int, typer.Option("--max", help="Most replicas.", min=1)] = 10,
    kubernetes: Annotated[str, typer.Option(help="Version of the cluster.")] = "1.36",
    directory: Annotated[Path, typer.Option(help="Folder to write to.", file_okay=False, exists=True)] = Path(),
) -> None:
    """Write a policy, its HPA and its test; what no flag gives is asked on a terminal. Status 2: nothing written."""
    library = load_presets()
    known = engines(library)
    name = name or _asked("name", "chat")
    engine = engine or _asked("engine", "vllm", known)
    if engine not in known:
        raise typer.BadParameter(f'no engine is called "{engine}"; there are {", ".join(known)}', param_hint="--engine")
    if maximum < minimum:
        raise typer.BadParameter(f"{maximum} is below --min {minimum}", param_hint="--max")
    answers = Answers(
        name=name,
        namespace=namespace or _asked("namespace", "default"),
        deployment=_workload(deployment or name),
        engine=engine,
        model=model,
        per_replica=per_replica,
        rate_per_replica=rate_per_replica,
        cold_start=show_duration(_seconds(cold_start, "--cold-start")),
        scrape_seconds=_seconds(scrape_interval, "--scrape-interval"),
        minimum=minimum,
        maximum=maximum,
        has_tolerance=_version(kubernetes) >= FIRST_WITH_TOLERANCE,
    )
    texts = {
        f"{name}.yaml": policy_text(answers, library),
        f"{name}-hpa.yaml": hpa_text(answers),
        f"{name}.test.yaml": test_text(answers, library),
    }
    _refuse_what_does_not_check(texts[f"{name}.yaml"], library)
    _write(directory, texts)
    typer.echo(f"next: scaleproof test {directory / name}.test.yaml")
    typer.echo(f"      scaleproof check {directory / name}.yaml --hpa {directory / name}-hpa.yaml --prometheus URL")


def _asked(what: str, default: str, choices: list[str] | None = None) -> str:
    if not sys.stdin.isatty():
        raise typer.BadParameter("required where there is no terminal to ask on", param_hint=f"--{what}")
    words = f"{what} ({', '.join(choices)})" if choices else what
    return str(typer.prompt(words, default=default))


def _seconds(text: str, flag: str) -> float:
    try:
        return parse_duration(text)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint=flag) from error


def _workload(name: str) -> str:
    try:
        return TypeAdapter[str](KubernetesName).validate_python(name)
    except ValidationError as error:
        raise typer.BadParameter(error.errors()[0]["msg"], param_hint="--deployment") from error


def _version(text: str) -> tuple[int, int]:
    parts = text.removeprefix("v").split(".")
    if len(parts) < 2 or not all(part.isdecimal() for part in parts[:2]):
        raise typer.BadParameter(f'"{text}" is no Kubernetes version; write e.g. 1.36', param_hint="--kubernetes")
    return int(parts[0]), int(parts[1])


def _refuse_what_does_not_check(text: str, library: PresetLibrary) -> None:
    """A name with a blank, a namespace in capitals: told by the policy's own check, before anything is written."""
    _, problems = read_policies(text, "the new policy", library)
    errors = [problem for problem in problems if problem.severity is Severity.ERROR]
    if errors:
        raise typer.BadParameter(f"{errors[0].message}. {errors[0].fix}")


def _write(directory: Path, texts: dict[str, str]) -> None:
    """Write all files or none: one that exists is never touched."""
    existing = [directory / file for file in texts if (directory / file).exists()]
    if existing:
        raise typer.BadParameter(f"{existing[0]} exists, nothing is written; choose another name or folder")
    for file, text in texts.items():
        try:
            with (directory / file).open("x", encoding="utf-8") as target:
                target.write(text)
        except OSError as error:
            raise typer.BadParameter(f"{directory / file} cannot be written: {error.strerror}") from error
        typer.echo(f"wrote {directory / file}")
