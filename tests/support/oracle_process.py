"""The oracle as a subprocess: the real controller and API server code, asked line by line.

`make build/oracle` builds it; a test that needs it fails without it rather than skip.
"""

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ORACLE = ROOT / "build" / "oracle"


class Oracle:
    """One process of one mode, kept open for many questions."""

    def __init__(self, mode: str) -> None:
        if not ORACLE.exists():
            raise FileNotFoundError(f"{ORACLE} is missing; run `make build/oracle`")
        self.process = subprocess.Popen([ORACLE, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, question: object) -> dict:
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the oracle ended at {question!r}")
        return json.loads(answer)

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, *_: object) -> None:
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


def draw(seed: int, first: int, count: int) -> subprocess.Popen:
    """A process that writes `count` freshly drawn vectors of a seed to its stdout."""
    if not ORACLE.exists():
        raise FileNotFoundError(f"{ORACLE} is missing; run `make build/oracle`")
    command = [ORACLE, "draw", "-seed", str(seed), "-first", str(first), "-count", str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def run(scenarios: Iterable[object]) -> list[dict]:
    """The real controller's vectors for scenarios."""
    with Oracle("run") as oracle:
        return [oracle.ask(scenario) for scenario in scenarios]
