"""`scaleproof explain`: asks a running adapter how a value came about, and says it in words."""

import asyncio
import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from adapter.account_sources import (
    Explanation,
    Subject,
    UnknownSignalError,
    UnreachableError,
    by_cluster,
    by_url,
)
from adapter.account_text import account_lines, headline

app = typer.Typer(add_completion=False)

MOST_IN_FULL = 3
"""More groups than these get a line each; a selector chooses one to see in full."""


class Output(StrEnum):
    """How the explanation is written."""

    TEXT = "text"
    JSON = "json"


@app.command()
def explain(
    name: Annotated[str, typer.Argument(metavar="NAMESPACE/POLICY", help="The policy, or the metric it publishes.")],
    url: Annotated[
        str | None, typer.Option(help="Metrics address of an adapter, e.g. http://127.0.0.1:8080 (a port-forward).")
    ] = None,
    kubeconfig: Annotated[
        Path | None, typer.Option(help="Way to the cluster; without --url, and without it that of kubectl.")
    ] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig.")] = None,
    selector: Annotated[str, typer.Option(help="Which group of a fleet, e.g. model_name=llama-70b.")] = "",
    output: Annotated[Output, typer.Option(help="text, or json as the adapter gives it.")] = Output.TEXT,
) -> None:
    """Say how a signal of a running adapter came about: inputs, terms, guards, what decided, and what changed.

    Exit status: 0 if every signal has a value, 1 if one has none, 2 for a name that is not there, 3 if no adapter
    answers.
    """
    namespace, slash, policy = name.partition("/")
    if not (namespace and slash and policy) or "/" in policy:
        raise typer.BadParameter(f'"{name}" is not NAMESPACE/POLICY; write e.g. inference/llama-70b')
    if url is not None and (kubeconfig is not None or context is not None):
        raise typer.BadParameter("--url asks one adapter and --kubeconfig the cluster; give one of them")
    subject = Subject(namespace, policy, selector)
    try:
        found = asyncio.run(by_url(url, subject) if url is not None else by_cluster(kubeconfig, context, subject))
    except UnknownSignalError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    except UnreachableError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(3) from error
    if output is Output.JSON:
        typer.echo(json.dumps(found))
    else:
        _say(found, name)
    if any(one["value"] is None for one in found["signals"]):
        raise typer.Exit(1)


def _say(found: Explanation, name: str) -> None:
    signals = found["signals"]
    if len(signals) > MOST_IN_FULL:
        for one in signals:
            typer.echo(headline(one))
        typer.echo(f"\n{len(signals)} signals; --selector shows one in full, e.g. {_example(signals[0], name)}")
        return
    for place, one in enumerate(signals):
        if place:
            typer.echo()
        for line in account_lines(one, found["now"]):
            typer.echo(line)


def _example(signal: Explanation, name: str) -> str:
    labels = ",".join(f"{label}={value}" for label, value in signal["labels"].items())
    return f"scaleproof explain {name} --selector {labels}"
