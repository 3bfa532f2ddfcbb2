"""Label selectors: reading their whole grammar and matching labels, exactly as Kubernetes does.

A selector that is read otherwise than the API server reads it picks other signals than its author meant, so the
grammar, the order of checks and the messages follow `labels.Parse` of k8s.io/apimachinery v0.36. Knows nothing of HTTP.
Grammar: https://pkg.go.dev/k8s.io/apimachinery/pkg/labels#Parse
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from adapter.core.label_syntax import go_quote, key_faults, value_faults

_MIN_INT64, _MAX_INT64 = -(2**63), 2**63 - 1
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_TOKEN = re.compile(r"(!=|==|[=!(),<>])|([^=!(),<> \t\r\n\0]+)")
_BLANK = " \t\r\n"


class SelectorError(ValueError):
    """The text is not a label selector; the message is the one an API server gives."""


class Operator(StrEnum):
    """What a requirement asks of a label; the value is how the selector writes it."""

    IN = "in"
    NOT_IN = "notin"
    EQUALS = "="
    DOUBLE_EQUALS = "=="
    NOT_EQUALS = "!="
    GREATER_THAN = "gt"
    LESS_THAN = "lt"
    EXISTS = "exists"
    DOES_NOT_EXIST = "!"


_BINARY = {
    "in": Operator.IN,
    "notin": Operator.NOT_IN,
    "=": Operator.EQUALS,
    "==": Operator.DOUBLE_EQUALS,
    "!=": Operator.NOT_EQUALS,
    ">": Operator.GREATER_THAN,
    "<": Operator.LESS_THAN,
}
_BINARY_NAMES = ", ".join(_BINARY.values())


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on one label; the values are sorted and without doubles."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        value = labels.get(self.key)
        match self.operator:
            case Operator.EXISTS:
                return value is not None
            case Operator.DOES_NOT_EXIST:
                return value is None
            case Operator.IN | Operator.EQUALS | Operator.DOUBLE_EQUALS:
                return value is not None and value in self.values
            case Operator.NOT_IN | Operator.NOT_EQUALS:
                return value is None or value not in self.values
            case Operator.GREATER_THAN | Operator.LESS_THAN:
                number = None if value is None else _integer(value)
                bound = _integer(self.values[0])
                if number is None or bound is None:
                    return False
                return number > bound if self.operator is Operator.GREATER_THAN else number < bound


@dataclass(frozen=True, slots=True)
class LabelSelector:
    """All requirements must hold; none at all selects everything."""

    requirements: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet every requirement."""
        return all(requirement.matches(labels) for requirement in self.requirements)


def parse_label_selector(text: str) -> LabelSelector:
    """Read a selector; SelectorError carries the message of the API server."""
    return LabelSelector(tuple(sorted(_Parser(text).requirements(), key=lambda requirement: requirement.key)))


def _integer(text: str) -> int | None:
    """The text as an int64, or None; more than 20 digits need leading zeros to be one, and are let go."""
    if not _INTEGER.fullmatch(text) or len(text) > 64:
        return None
    number = int(text)
    return number if _MIN_INT64 <= number <= _MAX_INT64 else None


class _Parser:
    """Recursive descent over the tokens, one method for each rule of the grammar.

    A token is (kind, text): the kind is the text of a symbol or keyword, "name" for anything else and "" for the end.
    """

    def __init__(self, text: str) -> None:
        self.tokens = list(_scan(text))
        self.position = 0

    def peek(self) -> tuple[str, str]:
        """The next token; `in` and `notin` are names but where an operator is asked for."""
        kind, text = self.tokens[self.position]
        return ("name", text) if kind in ("in", "notin") else (kind, text)

    def take(self) -> tuple[str, str]:
        token = self.peek()
        self.position += 1
        return token

    def requirements(self) -> Iterator[Requirement]:
        kind, text = self.peek()
        if kind == "":
            return
        if kind not in ("name", "!"):
            raise SelectorError(f"found '{text}', expected: !, identifier, or 'end of string'")
        while True:
            try:
                yield self.requirement()
            except SelectorError as error:
                raise SelectorError(f"unable to parse requirement: {error}") from error
            kind, text = self.take()
            if kind == "":
                return
            if kind != ",":
                raise SelectorError(f"found '{text}', expected: ',' or 'end of string'")
            kind, text = self.peek()
            if kind not in ("name", "!"):
                raise SelectorError(f"found '{text}', expected: identifier after ','")

    def requirement(self) -> Requirement:
        kind, key = self.take()
        is_negated = kind == "!"
        if is_negated:
            kind, key = self.take()
        if kind != "name":
            raise SelectorError(f"found '{key}', expected: identifier")
        if faults := key_faults(key):
            raise SelectorError(f"<nil>: Invalid value: {go_quote(key)}: {'; '.join(faults)}")
        if is_negated:
            return Requirement(key, Operator.DOES_NOT_EXIST)
        if self.peek()[0] in ("", ","):
            return Requirement(key, Operator.EXISTS)
        operator = self.operator()
        values = self.value_set() if operator in (Operator.IN, Operator.NOT_IN) else {self.exact_value()}
        return _checked(Requirement(key, operator, tuple(sorted(values))))

    def operator(self) -> Operator:
        kind, text = self.tokens[self.position]
        self.position += 1
        if kind not in _BINARY:
            raise SelectorError(f"found '{text}', expected: {_BINARY_NAMES}")
        return _BINARY[kind]

    def value_set(self) -> set[str]:
        kind, text = self.take()
        if kind != "(":
            raise SelectorError(f"found '{text}' expected: '('")
        kind, text = self.peek()
        if kind == ")":
            self.take()
            return {""}
        if kind not in ("name", ","):
            raise SelectorError(f"found '{text}', expected: ',', ')' or identifier")
        values = self.values()
        self.take()
        return values

    def values(self) -> set[str]:
        """The comma-separated values before the `)`; a place between two commas is the empty value."""
        values: set[str] = set()
        while True:
            kind, text = self.take()
            following, following_text = self.peek() if kind in ("name", ",") else ("", "")
            if kind == "name":
                values.add(text)
                if following == ")":
                    return values
                if following != ",":
                    raise SelectorError(f"found '{following_text}', expected: ',' or ')'")
            elif kind == ",":
                if not values or following in (",", ")"):
                    values.add("")
                if following == ")":
                    return values
            else:
                raise SelectorError(f"found '{text}', expected: ',', or identifier")

    def exact_value(self) -> str:
        if self.peek()[0] in ("", ","):
            return ""
        kind, text = self.take()
        if kind != "name":
            raise SelectorError(f"found '{text}', expected: identifier")
        return text


def _scan(text: str) -> Iterator[tuple[str, str]]:
    """The tokens, the end among them. A NUL ends the text where a token would begin and is skipped right after one."""
    position = 0
    while True:
        while position < len(text) and text[position] in _BLANK:
            position += 1
        found = _TOKEN.match(text, position)
        if found is None:
            yield "", ""
            return
        position = found.end()
        if text[position : position + 1] == "\0":
            position += 1
        token = found.group()
        yield (token if found.group(1) or token in ("in", "notin") else "name", token)


def _checked(requirement: Requirement) -> Requirement:
    """The requirement, if its values are fit for its operator and for a label."""
    faults: list[str] = []
    if requirement.operator in (Operator.GREATER_THAN, Operator.LESS_THAN) and _integer(requirement.values[0]) is None:
        quoted = go_quote(requirement.values[0])
        faults.append(f"values[0]: Invalid value: {quoted}: for 'Gt', 'Lt' operators, the value must be an integer")
    for index, value in enumerate(requirement.values):
        if found := value_faults(value):
            faults.append(f"values[{index}][{requirement.key}]: Invalid value: {go_quote(value)}: {'; '.join(found)}")
    if faults:
        raise SelectorError(faults[0] if len(faults) == 1 else f"[{', '.join(faults)}]")
    return requirement
