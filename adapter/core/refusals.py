"""Refusals: how a model says that a value is wrong, with a code, words and a fix, so that a file position can be added.

Thin wrapping of pydantic's custom errors; it knows no policy.
"""

from collections.abc import Callable
from typing import Any

from pydantic import BeforeValidator
from pydantic_core import PydanticCustomError


def refuse(code: str, message: str, fix: str = "") -> PydanticCustomError:
    """An error with an own code; braces in the words are kept as they are."""
    return PydanticCustomError(code, "{message}", {"message": message, "fix": fix})


def Refusal(check: Callable[[object], Any]) -> Any:
    """A validator from a function that returns the value or raises ValueError or a refusal."""

    def validate(value: object) -> Any:
        try:
            return check(value)
        except PydanticCustomError:
            raise
        except ValueError as error:
            raise refuse(_code_of(error), str(error)) from error

    return BeforeValidator(validate)


def _code_of(error: ValueError) -> str:
    return "unit-mismatch" if "cannot be reached by a share" in str(error) else "value-invalid"


def positive(parse: Callable[[object], float], allowed: str) -> Any:
    """A number that must be greater than 0."""

    def check(value: object) -> float:
        number = parse(value)
        if not number > 0:
            raise refuse("value-range", f"{value} must be greater than 0", f"write {allowed}")
        return number

    return Refusal(check)


def between(parse: Callable[[object], float], low: float, high: float, allowed: str) -> Any:
    """A number from low to high, both included."""

    def check(value: object) -> float:
        number = parse(value)
        if not low <= number <= high:
            raise refuse("value-range", f"{value} is out of range, {allowed} is allowed", f"write {allowed}")
        return number

    return Refusal(check)
