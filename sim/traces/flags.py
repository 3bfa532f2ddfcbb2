"""The command line's flags for reading a trace, the same for every command that takes one.

Typer reads a function's signature, so the flags are put into it; the command gets one `TraceOptions`.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any

import typer

from adapter.core.units import parse_duration
from sim.traces.options import (
    Decimal,
    Duplicates,
    Format,
    TimeUnit,
    TraceOptions,
    parse_mapping,
    parse_where,
    parse_zone,
)
from sim.traces.trace import TraceError

_PARAMETER = "trace_options"


def _flags() -> dict[str, tuple[Any, Any]]:
    many = list[str] | None
    return {
        "trace_format": (Annotated[Format | None, typer.Option(help="Format; else the file's content tells.")], None),
        "map": (
            Annotated[many, typer.Option(help="INPUT=COLUMN[*F|/F]: read this column as that input.")],
            None,
        ),
        "time_column": (Annotated[str | None, typer.Option(help="Column of the time; else its name tells.")], None),
        "time_unit": (Annotated[TimeUnit | None, typer.Option(help="Unit of times that are numbers.")], None),
        "timezone": (Annotated[str | None, typer.Option(help="Zone of times without one, e.g. Europe/Berlin.")], None),
        "label": (Annotated[many, typer.Option(help="Column whose texts are a label, e.g. pod.")], None),
        "where": (Annotated[many, typer.Option(help="COLUMN=TEXT: only such rows or series.")], None),
        "blank": (Annotated[many, typer.Option(help="Text that stands for no value, e.g. NA.")], None),
        "decimal": (Annotated[Decimal | None, typer.Option(help="Decimal sign; else the cells tell.")], None),
        "reorder": (Annotated[str, typer.Option(help="Rows may be out of order by so long.")], "0"),
        "duplicates": (Annotated[Duplicates, typer.Option(help="Which of two values at one time counts.")],
                       Duplicates.REFUSE),
        "bucket": (Annotated[str, typer.Option(help="A request log is counted by so long.")], "15s"),
    }  # fmt: skip


def with_trace_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """The command with a flag for each option of reading a trace in place of its parameter `trace_options`."""
    flags = _flags()
    signature = inspect.signature(command, eval_str=True)
    own = [one for name, one in signature.parameters.items() if name != _PARAMETER]
    extra = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)
        for name, (annotation, default) in flags.items()
    ]

    @wraps(command)
    def with_options(**given: Any) -> Any:
        try:
            options = _options({name: given.pop(name) for name in flags})
        except (ValueError, TraceError) as error:
            typer.echo(f"error: {error}", err=True)
            raise typer.Exit(2) from error
        return command(**given, trace_options=options)

    merged = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in own] + extra
    with_options.__signature__ = signature.replace(parameters=merged)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in merged}
    return with_options


def _options(given: dict[str, Any]) -> TraceOptions:
    bucket = parse_duration(given["bucket"])
    if not 0.001 <= bucket <= 86_400:
        raise ValueError(f"--bucket {given['bucket']} must be from 1ms to 1d")
    return TraceOptions(
        format=given["trace_format"],
        mapping=tuple(parse_mapping(one) for one in given["map"] or ()),
        time_column=given["time_column"],
        time_unit=given["time_unit"],
        zone=None if given["timezone"] is None else parse_zone(given["timezone"]),
        labels=tuple(given["label"] or ()),
        where=tuple(parse_where(one) for one in given["where"] or ()),
        blanks=tuple(given["blank"] or ()),
        decimal=given["decimal"],
        reorder=0.0 if given["reorder"] == "0" else parse_duration(given["reorder"]),
        duplicates=given["duplicates"],
        bucket=bucket,
    )
