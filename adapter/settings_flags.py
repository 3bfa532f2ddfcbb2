"""The command line of `serve`, made from the settings model: a setting is described once and is a flag by that.

Typer reads a function's signature, so one is built. Knows no command; the function it wraps gets valid settings.
"""

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from adapter.settings import ENVIRONMENT_PREFIX, Settings, SettingsError, flag, is_file_only, load_settings


def with_settings_flags(run: Callable[[Settings], None]) -> Callable[..., None]:
    """A command that has a flag for each setting; wrong settings end it with status 2 and a line for each."""

    def command(**flags: Any) -> None:
        config = flags.pop("config")
        try:
            settings = load_settings(flags, os.environ, config)
        except SettingsError as error:
            typer.echo(str(error), err=True)
            raise typer.Exit(2) from error
        run(settings)

    parameters = [_parameter("config", "YAML file with settings by the names of their flags.")]
    for field, info in Settings.model_fields.items():
        if is_file_only(field):
            continue
        default = "" if info.is_required() or info.default in (None, {}) else f" Default: {info.default}."
        parameters.append(_parameter(field, f"{info.description}{default}"))
    signature = inspect.Signature(parameters)
    command.__signature__ = signature  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = run.__doc__
    return command


def _parameter(field: str, description: str) -> inspect.Parameter:
    """An option without a default of its own, so that the environment and the file can be heard after it."""
    text = f"{description} Also {ENVIRONMENT_PREFIX}{field.upper()}."
    option = typer.Option(flag(field), help=text, show_default=False)
    annotation = Annotated[Path | None, option] if field == "config" else Annotated[str | None, option]
    return inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
