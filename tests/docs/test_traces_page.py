"""docs/traces.md does what it says: its files are written, its commands run, and it names every option and format."""

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.testing import CliRunner

from adapter.record_command import app as record_app
from sim.traces.options import Format
from sim.traces.show_command import app

PAGE = (Path(__file__).parents[2] / "docs/traces.md").read_text()
FILES = dict(re.findall(r"^```[a-z]+ (\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
COMMANDS = [
    line for text in re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) for line in text.splitlines()
]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_understands_the_file_that_the_page_shows(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    program, name, *arguments = shlex.split(command)
    assert (program, name) == ("scaleproof", "trace")
    ended = CliRunner().invoke(app, arguments)
    assert ended.exit_code == 0, ended.output


def test_every_file_shown_is_read_by_a_command() -> None:
    assert {name for command in COMMANDS for name in FILES if name in command} == set(FILES)


def test_the_page_names_every_option_and_format() -> None:
    options = {
        option for one in (app, record_app) for each in typer.main.get_command(one).params for option in each.opts
        if option.startswith("--")
    }  # fmt: skip
    assert {"--reorder", "--queries-per-second"} <= options
    assert {option for option in options if option not in PAGE} == set()
    assert [form for form in Format if f"`{form}`" not in PAGE] == []
