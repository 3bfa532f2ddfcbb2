"""Arrivals: a request log as counts per 15 s, which is all of it that the generator needs and the package carries.

The log itself (two files, 1.5 MB) is not shipped; its counts and token sums are. See data/SOURCE.md for origin and
licence.
"""

import csv
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

STEP_SECONDS = 15
HOUR_STEPS = 240

ARRIVALS_FILE = Path(__file__).parent / "data" / "azure-llm-2023-arrivals.csv"
_COLUMNS = ("log", "t_s", "requests", "prompt_tokens", "generated_tokens")


@dataclass(frozen=True, slots=True)
class Bucket:
    """What arrived in one step: how many requests, and their tokens in total."""

    requests: int
    prompt_tokens: int
    generated_tokens: int


def count_requests(log: Iterable[str]) -> list[Bucket]:
    """An Azure log (TIMESTAMP, ContextTokens, GeneratedTokens) by steps of 15 s since its first request."""
    sums: dict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    first: datetime | None = None
    for row in csv.DictReader(log):
        time = datetime.fromisoformat(row["TIMESTAMP"][:26])  # the log has a seventh digit, which Python does not read
        first = time if first is None else first
        step = int((time - first).total_seconds() // STEP_SECONDS)
        for place, value in enumerate((1, int(row["ContextTokens"]), int(row["GeneratedTokens"]))):
            sums[step][place] += value
    last = max(sums, default=-1)
    return [Bucket(*sums[step]) if step in sums else Bucket(0, 0, 0) for step in range(last + 1)]


def write_arrivals(logs: Mapping[str, Sequence[Bucket]]) -> str:
    """The counts as CSV text."""
    lines = [",".join(_COLUMNS)]
    for name, buckets in logs.items():
        for step, one in enumerate(buckets):
            values = (name, step * STEP_SECONDS, one.requests, one.prompt_tokens, one.generated_tokens)
            lines.append(",".join(map(str, values)))
    return "\n".join(lines) + "\n"


def read_arrivals(path: Path = ARRIVALS_FILE) -> dict[str, list[Bucket]]:
    """The shipped counts by name of the log."""
    logs: dict[str, list[Bucket]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            logs[row["log"]].append(
                Bucket(int(row["requests"]), int(row["prompt_tokens"]), int(row["generated_tokens"]))
            )
    return dict(logs)
