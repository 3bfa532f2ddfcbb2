"""The page on replay: each command on it runs and says what the page says."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sim.replay.command import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/replay.md").read_text()
COMMANDS = [
    line for text in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for line in text.splitlines()
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_runs(command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(ROOT)
    program, name, *arguments = shlex.split(command)
    assert (program, name) == ("scaleproof", "replay")
    arguments = [str(tmp_path / Path(one).name) if one.endswith(".html") else one for one in arguments]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output


def test_the_first_command_shows_the_steps_that_the_page_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    text = CliRunner().invoke(app, shlex.split(COMMANDS[0])[2:]).stdout
    assert re.findall(r"(\d+) → (\d+)", text) == [("1", "4"), ("4", "6")]


def test_the_page_names_every_option() -> None:
    text = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    options = set(re.findall(r"--[a-z][a-z-]+", text)) - {"--help"}
    assert "--fill-forward" in options
    missing = {one for one in options if one not in PAGE} - {"--policy", "--trace", "--mode", "--log"}
    assert missing == set()
