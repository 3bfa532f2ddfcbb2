"""The flags of `serve`."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from adapter.settings import Settings, flag
from adapter.settings_flags import with_settings_flags

SEEN: list[Settings] = []


def run(settings: Settings) -> None:
    """Serve."""
    SEEN.append(settings)


APP = typer.Typer()
APP.command()(with_settings_flags(run))


def test_every_setting_that_is_one_value_is_a_flag_of_the_help() -> None:
    help_text = CliRunner().invoke(APP, ["--help"], env={"COLUMNS": "200"}).output
    assert [field for field in Settings.model_fields if flag(field) not in help_text] == ["sources", "also_reads"]
    assert "SCALEPROOF_SECURE_PORT" in help_text


def test_flags_reach_the_command_as_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCALEPROOF_BIND_ADDRESS", "127.0.0.1")
    (tmp_path / "config.yaml").write_text("authorization-mode: AlwaysAllow\n")
    arguments = ["--policies", "p", "--prometheus", "http://p", "--secure-port", "0"]
    arguments += ["--requestheader-allowed-names", "a,b", "--config", str(tmp_path / "config.yaml")]
    SEEN.clear()
    assert CliRunner().invoke(APP, arguments).exit_code == 0
    (settings,) = SEEN
    assert (settings.secure_port, settings.bind_address, settings.authorization_mode) == (0, "127.0.0.1", "AlwaysAllow")
    assert settings.requestheader_allowed_names == ("a", "b")


def test_wrong_settings_end_with_status_2_and_say_what_is_wrong() -> None:
    arguments = ["--policies", "p", "--prometheus", "http://p", "--authorization-mode", "AlwaysAllow"]
    result = CliRunner().invoke(APP, arguments)
    assert result.exit_code == 2
    assert "allowed on loopback only" in result.stderr
