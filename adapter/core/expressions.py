"""Expressions: conditions and numbers over a policy's inputs, in CEL within strict limits.

The language is CEL's arithmetic, comparison, logic and `? :`, with `max` and `min`, `70%` and `2s` as literals, and
all numbers doubles. Lists, strings, macros and member access are refused, since they have no bound on their cost. A
variable that has no value makes the result unknown, never false. Source: https://github.com/google/cel-spec.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from types import ModuleType

from adapter.core.units import parse_duration

# The package imports its own command line, and that a terminal toolkit: 9 MiB and 70 ms of each start, for nothing.
_unwanted = sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))
import cel  # noqa: E402

if not hasattr(_unwanted, "__file__"):
    del sys.modules["cel.cli"]

MAX_CHARACTERS = 1000
MAX_DEPTH = 32

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?P<suffix>%|ms\b|s\b|m\b|h\b|d\b)?"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<operator>&&|\|\||[<>=!]=|[-+*/<>!?:(),]))"
)
_FUNCTIONS = ("max", "min")
_WORDS = ("true", "false")


class ExpressionError(ValueError):
    """The text is no expression of this language; `column` is where in the text, from 1."""

    def __init__(self, message: str, column: int = 1) -> None:
        super().__init__(message)
        self.column = column


@dataclass(frozen=True, slots=True)
class Expression:
    """A compiled expression: its own text, the names it uses, and the program."""

    text: str
    names: tuple[str, ...]
    program: cel.Program

    def evaluate(self, variables: Mapping[str, float]) -> bool | float | None:
        """The result; None where a name has no value or the arithmetic gives no finite number."""
        if any(name not in variables for name in self.names):
            return None
        context = cel.Context(variables={name: variables[name] for name in self.names}, functions=_BOUND)
        try:
            result = self.program.execute(context)
        except (ValueError, TypeError, RuntimeError):
            return None
        if isinstance(result, bool):
            return result
        return float(result) if isinstance(result, int | float) and isfinite(result) else None


_BOUND = {"max": lambda *values: max(values), "min": lambda *values: min(values)}


@lru_cache(maxsize=4096)
def parse_expression(text: str) -> Expression:
    """Compile a text; ExpressionError with the place of what is wrong."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(f"the expression has {len(text)} characters, at most {MAX_CHARACTERS} are read")
    rewritten, names = _rewrite(text)
    try:
        program = cel.compile(rewritten)
    except ValueError as error:
        message = "the expression is not complete: an operand or a bracket is missing"
        raise ExpressionError(message, len(text)) from error
    return Expression(text, names, program)


def _rewrite(text: str) -> tuple[str, tuple[str, ...]]:
    """CEL's own text: literals with units as doubles, calls only of what is bounded."""
    parts: list[str] = []
    names: dict[str, None] = {}
    position = depth = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            column = position + len(text[position:]) - len(text[position:].lstrip()) + 1
            raise ExpressionError(f'"{text[column - 1]}" is not read here; {_ALLOWED}', column)
        column = match.end() - len(match.group().lstrip()) + 1
        if match.group("number"):
            parts.append(_number(match.group("number"), match.group("suffix")))
        elif name := match.group("name"):
            is_call = text[match.end() :].lstrip().startswith("(")
            if is_call and name not in _FUNCTIONS:
                raise ExpressionError(f'no function is called "{name}"; there are max and min', column)
            if not is_call and name not in _WORDS:
                names[name] = None
            parts.append(name)
        else:
            operator = match.group("operator")
            depth += {"(": 1, ")": -1}.get(operator, 0)
            if depth > MAX_DEPTH or depth < 0:
                raise ExpressionError(f"brackets are nested deeper than {MAX_DEPTH}, or one too many is closed", column)
            parts.append(operator)
        position = match.end()
    return " ".join(parts), tuple(names)


_ALLOWED = "write names of inputs, numbers such as 0.7, 70% or 2s, + - * / < <= > >= == != && || ! ?: ( ) max min"


def _number(number: str, suffix: str | None) -> str:
    if suffix == "%":
        return repr(float(number) / 100)
    if suffix:
        return repr(float(number) * parse_duration(f"1{suffix}"))
    return repr(float(number))
