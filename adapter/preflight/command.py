"""`scaleproof preflight`: whether a cluster is ready for the adapter, or what keeps an installed one from working."""

import asyncio
import importlib
import json
import os
import threading
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from adapter import clock
from adapter.bundled import load_presets
from adapter.core.reasons import Missing
from adapter.deadlines import Deadline
from adapter.kube import ApiServerConfigurationError
from adapter.kube_objects import connect_objects
from adapter.preflight.findings import Finding, Verdict, exit_status
from adapter.preflight.look import Means, Wanted, look
from adapter.prometheus import PrometheusSource

PROMETHEUS_SECONDS = 5.0

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """How the findings are shown."""

    TEXT = "text"
    JSON = "json"


@app.command()
def preflight(
    kubeconfig: Annotated[Path | None, typer.Option(help="Else KUBECONFIG, ~/.kube/config, or the Pod's own.")] = None,
    context: Annotated[str | None, typer.Option(help="Context of the kubeconfig; else its current one.")] = None,
    namespace: Annotated[str, typer.Option(help="Namespace of the adapter.")] = "scaleproof-system",
    policies: Annotated[list[Path] | None, typer.Option(help="Policies; else those that are installed.")] = None,
    prometheus: Annotated[str | None, typer.Option(help="URL of Prometheus, as reached from here.")] = None,
    output: Annotated[Output, typer.Option(help="text or json.")] = Output.TEXT,
) -> None:
    """Look at a cluster, change nothing. Exit status: 0 fine or warnings, 1 something fails, 2 no usable kubeconfig."""
    if prometheus is not None and (
        urlsplit(prometheus).scheme not in ("http", "https") or not urlsplit(prometheus).netloc
    ):
        raise typer.BadParameter(f'"{prometheus}" is no http or https address', param_hint="--prometheus")
    wanted = Wanted(namespace, tuple(policies or ()), prometheus, clock.now())
    try:
        server, findings = asyncio.run(_run(kubeconfig or _usual_kubeconfig(), context, wanted))
    except ApiServerConfigurationError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    if output is Output.JSON:
        typer.echo(json.dumps({"server": server, "findings": [asdict(one) for one in findings]}, indent=2))
    else:
        _show(server, findings)
    raise typer.Exit(exit_status(findings))


def _usual_kubeconfig() -> Path | None:
    """Where kubectl looks; None leaves the Pod's service account."""
    named = os.environ.get("KUBECONFIG")
    if named:
        return Path(named)
    usual = Path.home() / ".kube/config"
    return usual if usual.is_file() else None


async def _run(kubeconfig: Path | None, context: str | None, wanted: Wanted) -> tuple[str, list[Finding]]:
    cluster = await connect_objects(kubeconfig, context)
    try:
        # The lints of HPAs are the simulator's, by name: the shell does not depend on it.
        lint = importlib.import_module("sim.policy_hpa_lints").lint_together
        return cluster.server, await look(cluster, wanted, Means(load_presets(), lint, _ask_prometheus))
    finally:
        await cluster.close()


def _ask_prometheus(url: str) -> Missing | None:
    source, deadline = PrometheusSource(url), Deadline(PROMETHEUS_SECONDS)
    timer = threading.Timer(deadline.seconds, deadline.end)  # a server that drips outlasts any read's time-out
    timer.daemon = True
    timer.start()
    try:
        return source.instant("vector(1)", clock.now(), deadline).failure
    finally:
        timer.cancel()
        source.close()


def _show(server: str, findings: list[Finding]) -> None:
    typer.echo(server)
    for one in findings:
        typer.echo(f"{one.verdict:<4}  {one.check}: {one.looked_at}\n      {one.found}")
        if one.fix:
            typer.echo(f"      fix: {one.fix}")
    counts = {verdict: sum(one.verdict is verdict for one in findings) for verdict in Verdict}
    typer.echo(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
