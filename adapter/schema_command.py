"""`scaleproof schema`: the JSON Schema of a policy, or the language reference made from it."""

import json
from enum import StrEnum
from typing import Annotated

import typer

from adapter.bundled import load_presets
from adapter.core.policy_schema import policy_schema
from adapter.core.reference_page import reference

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """In which form the language is told."""

    JSON = "json"
    MARKDOWN = "markdown"


@app.command()
def schema(
    output: Annotated[Output, typer.Option(help="json (JSON Schema) or markdown (the reference).")] = Output.JSON,
) -> None:
    """Write the JSON Schema of a ScalingPolicy, for editors, or the language reference."""
    library = load_presets()
    if output is Output.MARKDOWN:
        typer.echo(reference(library), nl=False)
        return
    typer.echo(json.dumps(policy_schema(*library.names()), indent=1, ensure_ascii=False))
