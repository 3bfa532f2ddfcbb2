"""`scaleproof schema`: the JSON Schema of a policy, its CustomResourceDefinition, or the language reference."""

import json
from enum import StrEnum
from typing import Annotated

import typer
import yaml

from adapter.bundled import load_presets
from adapter.core.custom_resource import custom_resource_definition
from adapter.core.policy_schema import policy_schema
from adapter.core.reference_page import reference

app = typer.Typer(add_completion=False)


class Output(StrEnum):
    """In which form the language is told."""

    JSON = "json"
    MARKDOWN = "markdown"
    CRD = "crd"


CRD_HEAD = """\
# ScalingPolicy as an object of the API server: the language of docs/policy.md. Made by `scaleproof schema --output crd`
# from the same models as the JSON Schema; what a structural schema cannot say is told in the object's status.
"""


@app.command()
def schema(
    output: Annotated[
        Output, typer.Option(help="json (JSON Schema), markdown (the reference) or crd (CustomResourceDefinition).")
    ] = Output.JSON,
) -> None:
    """Write the JSON Schema of a ScalingPolicy (for editors), its CustomResourceDefinition, or the reference."""
    if output is Output.CRD:
        typer.echo(CRD_HEAD + yaml.safe_dump(custom_resource_definition(), sort_keys=False, width=120), nl=False)
        return
    library = load_presets()
    if output is Output.MARKDOWN:
        typer.echo(reference(library), nl=False)
        return
    typer.echo(json.dumps(policy_schema(*library.names()), indent=1, ensure_ascii=False))
