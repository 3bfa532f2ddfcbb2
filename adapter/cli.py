"""The one command, `scaleproof`: a table of sub-commands, each imported only when it is called.

`replay` must never load aiohttp or kubernetes and `serve` never the simulator's stack, so this module imports neither;
it knows names and one-line helps. Exit status everywhere: 0 fine, 1 the thing checked failed, 2 bad usage or input,
3 inconclusive.
"""

import importlib
import sys
from importlib.metadata import version
from typing import Any

import typer
from typer.core import TyperGroup

COMMANDS: dict[str, tuple[str, str]] = {
    "serve": ("adapter.serving", "Serve scaling signals through the external metrics API."),
    "explain": ("adapter.explain_command", "Say how a signal of a running adapter came about, and what changed."),
    "check": ("adapter.checking", "Check policies: what is wrong, where, and what to do about it."),
    "new": ("adapter.new_command", "Write a policy, its HPA and its test for a workload, from flags or answers."),
    "presets": ("adapter.preset_command", "List presets, show what one means, and the queries it asks."),
    "schema": ("adapter.schema_command", "Write the JSON Schema of a policy for editors, or the language reference."),
    "test": ("sim.policy_tests.command", "Run the tests beside policies: traces, faults, and what must come of them."),
    "replay": ("sim.replay.command", "Replay a trace through a policy and its HPA: every decision, with scores."),
    "diff": ("sim.comparing.command", "Compare two revisions of policies on traces: decisions, scores, cost, verdict."),
    "trace": ("sim.traces.show_command", "Show what is understood of a trace: inputs, span, holes, blanks."),
    "record": ("adapter.record_command", "Record what a policy asks from Prometheus, as a trace for replay."),
    "verify": ("sim.verifying.command", "Compare a recorded period, computed again, with what was served and decided."),
    "preflight": (
        "adapter.preflight.command",
        "See whether a cluster is ready: who owns the API, rights, certificates, HPAs.",
    ),
    "demo": ("sim.demo.command", "Show signals live from a bundled trace: no cluster, Prometheus or GPU."),
    "bench": ("sim.bench", "Measure speed and memory of a part, with the floor of this machine beside it."),
    "conformance": ("sim.conformance", "Hold the HPA model against recorded decisions of the real controller."),
}
"""Sub-command → (module that has a Typer `app` with that one command, one line of help)."""


class LazyGroup(TyperGroup):
    """A group whose sub-commands are imported on call; its help is made from the table alone."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module, _ = COMMANDS[cmd_name]
        command = typer.main.get_command(importlib.import_module(module).app)
        command.name = cmd_name
        return command

    def format_help(self, ctx: Any, formatter: Any) -> None:
        width = max(map(len, COMMANDS), default=0)
        formatter.write("Usage: scaleproof COMMAND [OPTIONS]\n\nScaling signals for AI inference on Kubernetes.\n\n")
        formatter.write("".join(f"  {name:<{width}}  {text}\n" for name, (_, text) in COMMANDS.items()))
        formatter.write("\n`scaleproof COMMAND --help` tells the options of one command; `--version` the version.\n")


app = typer.Typer(cls=LazyGroup, add_completion=False)


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    show_version: bool = typer.Option(False, "--version", help="Print the version and end."),
) -> None:
    """Scaling signals for AI inference on Kubernetes."""
    if show_version:
        typer.echo(version("scaleproof"))
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)


def main() -> None:
    """Run the command line; usage errors end with status 2."""
    sys.exit(app())
