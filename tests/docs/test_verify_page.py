"""docs/verify.md shows what the command says, and its worked numbers hold."""

import re
from pathlib import Path

from typer.testing import CliRunner
from written_recordings import write_recording

from sim.verifying.command import app
from sim.verifying.decisions import LATENCIES_SECONDS, PHASES

PAGE = (Path(__file__).parents[2] / "docs/verify.md").read_text()


def test_the_difference_shown_is_what_the_command_says(tmp_path: Path) -> None:
    waiting = {second: 10.0 if second < 20 else 30.0 for second in range(60)}
    served = {second: "1" if second <= 20 else "3" for second in range(60)}
    recording = write_recording(tmp_path, waiting, served, {})
    ended = CliRunner().invoke(app, [str(recording), "--policy", str(tmp_path / "policy.yaml")])
    assert ended.exit_code == 1, ended.output
    shown = re.search(r"^    first difference.*?\n\n", PAGE, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert re.sub(r"^    ", "", shown[0].rstrip(), flags=re.MULTILINE) in ended.output


def test_the_tries_named_are_those_that_are_made() -> None:
    assert (PHASES, len(LATENCIES_SECONDS), max(LATENCIES_SECONDS)) == (8, 5, 0.1)
    assert "eight phases and five latencies (0 to 100 ms)" in " ".join(PAGE.split())
