"""Prometheus's own parser as a process (tests/promqlparse), asked one question at a time."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

PARSER = Path(__file__).parents[2] / "build/promqlparse"


@dataclass(frozen=True)
class Matcher:
    name: str
    type: str
    value: str
    accepts: bool
    """Whether the text asked about passes."""


@dataclass(frozen=True)
class Tree:
    """What the parser makes of a query: the root's kind, its range, and the selector in it."""

    kind: str
    range_ms: int
    metric: str
    matchers: tuple[Matcher, ...]
    selectors: tuple[tuple[Matcher, ...], ...]
    """The matchers of every selector in the query, that on its name left out."""
    without: str
    """The query as Prometheus writes it, without any matcher on the label asked about."""

    def triples(self) -> list[tuple[str, str, str]]:
        return [(one.name, one.type, one.value) for one in self.matchers]


class Parser:
    """The Go program, one question at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in: IO[str] = process.stdin
        self._out: IO[str] = process.stdout

    def parse(self, query: str, text: str = "", label: str = "") -> Tree:
        self._in.write(json.dumps({"query": query, "text": text, "label": label}) + "\n")
        self._in.flush()
        found = json.loads(self._out.readline())
        assert "error" not in found, f"{query!r}: {found['error']}"
        matchers, *selectors = (
            tuple(Matcher(**one) for one in each or ()) for each in (found["matchers"], *(found["selectors"] or ()))
        )
        return Tree(found["kind"], found["range_ms"], found["metric"], matchers, tuple(selectors), found["without"])


@contextmanager
def prometheus_parser() -> Iterator[Parser]:
    with ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen([PARSER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        )
        stack.callback(process.kill)
        yield Parser(process)
