"""`scaleproof verify`: whether a recorded period, computed again, gives what was served and what the HPA did.

Exit status: 0 equal, 1 anything differs, 2 bad usage or input, 3 inconclusive: the recording lacks what is compared.
"""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.units import parse_duration
from sim.hpa.versions import DEFAULT_VERSION, NotModelledError
from sim.policy_files import FileRefused, load_policies
from sim.replay.parameters import Parameters, ReplayError
from sim.replay.subject import load_subject
from sim.traces.opening import open_trace
from sim.traces.recording import Recording
from sim.traces.trace import TraceError
from sim.verifying.decisions import Controller
from sim.verifying.reporting import Verdict
from sim.verifying.verification import verify

app = typer.Typer(add_completion=False)

EXIT = {Verdict.EQUAL: 0, Verdict.DIFFERENT: 1, Verdict.INCONCLUSIVE: 3}


class Output(StrEnum):
    """How the outcome is written."""

    TEXT = "text"
    JSON = "json"


@app.command("verify")
def verify_command(
    recording: Annotated[Path, typer.Argument(help="What `scaleproof record` wrote, with --served.")],
    policy: Annotated[Path, typer.Option(help="The policy file that it was recorded with.")],
    hpa: Annotated[Path | None, typer.Option(help="The HPA; without it only values are compared.")] = None,
    sync: Annotated[str, typer.Option(help="Sync period of the HPA controller.")] = "15s",
    kubernetes: Annotated[str, typer.Option(help="Version of the HPA controller.")] = DEFAULT_VERSION,
    output: Annotated[Output, typer.Option(help="text or json.")] = Output.TEXT,
) -> None:
    """Compare a recorded period with its replay. Exit status: 0 equal, 1 different, 2 bad input, 3 inconclusive."""
    try:
        seconds = Parameters(sync=parse_duration(sync)).sync
        opened = _recording(recording)
        controller = None
        if hpa is not None:
            controller = Controller(load_subject(policy, recording, hpa, kubernetes).hpa, seconds, kubernetes)
        found = verify(recording, opened, _policy(policy, opened), controller)
    except (FileRefused, TraceError, ReplayError, NotModelledError, ValueError) as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(2) from error
    if output is Output.JSON:
        typer.echo(json.dumps(found.as_data(), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(found.lines()))
    raise typer.Exit(EXIT[found.verdict])


def _recording(path: Path) -> Recording:
    opened = open_trace(path)
    if not isinstance(opened, Recording):
        raise ReplayError(f"{path} is no recording; make one with `scaleproof record --served`")
    return opened


def _policy(path: Path, recording: Recording) -> LoadedPolicy:
    loaded = load_policies(path)
    found = [one for one in loaded if "/".join(one.policy.key) == recording.recorded.policy]
    return found[0] if found else loaded[0]
