"""`scaleproof presets`: what presets there are, what one means, and which queries it asks."""

from difflib import get_close_matches
from typing import Annotated, Any

import typer
from pydantic import ValidationError

from adapter.bundled import load_presets
from adapter.core.plans import plan_policy
from adapter.core.policy import API_VERSION, KIND, Policy
from adapter.core.presets import Preset, PresetLibrary

app = typer.Typer(add_completion=False, invoke_without_command=True, help="List, show and query presets.")

Name = Annotated[str, typer.Argument(help="FAMILY/NAME, e.g. vllm/kv-cache-usage.")]


@app.callback()
def presets(context: typer.Context) -> None:
    """List, show and query presets; without a sub-command they are listed."""
    if context.invoked_subcommand is None:
        list_presets()


@app.command("list")
def list_presets() -> None:
    """All presets, one a line: name, unit, what it is."""
    library = load_presets()
    inputs, replicas = library.names()
    width = max(map(len, (*inputs, *replicas)))
    for name in inputs:
        preset = library.input(name)
        if preset is not None:
            typer.echo(f"{name:<{width}}  {preset.unit:<10}  {_sentence(preset.about)}")
    for name in replicas:
        found = library.replicas(name)
        if found is not None:
            typer.echo(f"{name:<{width}}  {'replicas':<10}  {_sentence(found.about)}")


@app.command()
def show(name: Name) -> None:
    """What a preset means: unit, series with their renames, labels and how a pod's series become its number."""
    library = load_presets()
    preset = library.input(name)
    if preset is not None:
        for line in _described(name, preset, library):
            typer.echo(line)
        return
    found = library.replicas(name)
    if found is None:
        raise _unknown(name, library)
    typer.echo(f"{name}\n  {' '.join(found.about.split())}")
    for role, series in (("replicas wanted", found.spec), ("ready pods", found.ready), ("pods by name", found.pods)):
        if series is not None:
            typer.echo(f"  {role}: {', else '.join(series.metrics)}")


@app.command()
def query(
    name: Name,
    match: Annotated[list[str] | None, typer.Option(help="LABEL=VALUE; a value that begins with ~ is a regex.")] = None,
    namespace: Annotated[str, typer.Option(help="Namespace of the policy.")] = "default",
) -> None:
    """The PromQL that the adapter asks for a preset: for trying it out in Prometheus."""
    library = load_presets()
    matchers = dict(_pair(text) for text in match or [])
    is_replicas = library.replicas(name) is not None
    if not is_replicas and library.input(name) is None:
        raise _unknown(name, library)
    for line in _queries(name, matchers, namespace, library, is_replicas=is_replicas):
        typer.echo(line)


def _queries(
    name: str, match: dict[str, str], namespace: str, library: PresetLibrary, *, is_replicas: bool
) -> list[str]:
    source: dict[str, Any] = {"preset": name, "match": match}
    preset = library.input(name)
    if preset is not None and preset.kind == "histogram":
        source["quantile"] = 0.95
    own = {"query": "up", "unit": "count"}
    spec: dict[str, Any] = {
        "inputs": {"x": own if is_replicas else source},
        "terms": {"x": {"expression": "x"}},
        "publish": {"metric": "x"},
    }
    if is_replicas:
        spec["replicas"] = source
    document = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": {"name": "x", "namespace": namespace},
        "spec": spec,
    }
    try:
        plan = plan_policy(Policy.model_validate(document), library)
    except ValidationError as error:
        raise typer.BadParameter(error.errors()[0]["msg"], param_hint="--match") from error
    return [plan.asked(text, is_raw) for text, is_raw in plan.queries if not (is_replicas and text == "up")]


def _pair(text: str) -> tuple[str, str]:
    label, separator, value = text.partition("=")
    if not separator or not label:
        raise typer.BadParameter(f'"{text}" is no LABEL=VALUE', param_hint="--match")
    return label, value


def _described(name: str, preset: Preset, library: PresetLibrary) -> list[str]:
    lines = [name, f"  {' '.join(preset.about.split())}", f"  unit: {preset.unit}", f"  kind: {preset.kind}"]
    lines.append(f"  of a pod's series: the {preset.reduce}" + (f", told apart by {', '.join(preset.per)}"))
    if preset.window is not None:
        lines.append(f"  window: {preset.window:g}s")
    if preset.needs_base:
        lines.append("  base: required in headroom, since an idle replica uses some")
    for key, series in preset.series.items():
        scaled = f", times {series.scale:g}" if series.scale != 1 else ""
        optional = ", may be absent" if series.optional else ""
        lines.append(f"  series {key}: {', else '.join(series.metrics)} ({series.take}{scaled}{optional})")
    for labels in library.label_names(name):
        if labels:
            lines.append("  labels: " + ", ".join(f"{ours} stands in {theirs}" for ours, theirs in labels.items()))
    return lines


def _sentence(text: str) -> str:
    words = " ".join(text.split())
    return words.split(". ")[0].rstrip(".")


def _unknown(name: str, library: PresetLibrary) -> typer.BadParameter:
    inputs, replicas = library.names()
    return typer.BadParameter(f'no preset is called "{name}"; {did_you_mean(name, (*inputs, *replicas))}')


def did_you_mean(name: str, names: tuple[str, ...]) -> str:
    """The nearest of the names, or where to find them."""
    close = get_close_matches(name, names, n=1)
    return f"did you mean {close[0]}?" if close else "scaleproof presets lists them"
