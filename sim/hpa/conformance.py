"""Comparing the model with what a real controller decided: vector by vector, every field of every step.

Pure: takes lines of text, fills a report. Reading files and printing is sim/conformance.py's.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from sim.hpa.scenarios import (
    InvalidHpaError,
    Scenario,
    ScenarioError,
    Step,
    read_scenario,
    run_scenario,
    step_result,
)
from sim.hpa.versions import NotModelledError, Version

MAX_DIFFERENCES = 10_000
"""Differences kept in detail; all are counted."""


class VectorError(ValueError):
    """A line that is no vector: bad input, with its place."""

    def __init__(self, file: str, line: int, message: str) -> None:
        super().__init__(f"{file}:{line}: {message}")


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that differs; `step` is -1 where the HPA itself was judged differently."""

    file: str
    line: int
    scenario: str
    step: int
    field: str
    expected: object
    got: object
    account: tuple[str, ...]


@dataclass(slots=True)
class Report:
    """What was compared; a step with several differing fields is one mismatch."""

    scenarios: int = 0
    steps: int = 0
    mismatches: int = 0
    unmodelled: Counter[str] = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    @property
    def exit_status(self) -> int:
        """1 if something differs, 3 if something was not modelled or nothing was compared, else 0."""
        if self.mismatches:
            return 1
        return 3 if self.unmodelled or not self.scenarios else 0


def compare_line(line: str, file: str, number: int, version: Version, report: Report) -> None:
    """Compare the vector on one line of a file and add to the report; VectorError if it is none."""
    if not line.strip():
        return
    try:
        compare_vector(_vector(line), version, report, file, number)
    except (ScenarioError, json.JSONDecodeError) as error:
        raise VectorError(file, number, str(error)) from error


def _vector(line: str) -> Mapping[str, Any]:
    data = json.loads(line)
    if not isinstance(data, dict) or "scenario" not in data or not isinstance(data.get("result"), dict):
        raise ScenarioError('a vector is an object {"scenario": …, "result": …}')
    return data


def compare_vector(vector: Mapping[str, Any], version: Version, report: Report, file: str = "", line: int = 0) -> None:
    """Compare one vector and add to the report."""
    expected, invalid = vector["result"].get("steps") or [], vector["result"].get("invalid")
    if not isinstance(expected, list) or not all(isinstance(step, dict) for step in expected):
        raise ScenarioError("result.steps is not a list of objects")
    try:
        scenario = read_scenario(vector["scenario"], version)
        decided, refusal = _decide(scenario)
    except NotModelledError as error:
        report.unmodelled[str(error)] += 1
        return
    report.scenarios += 1
    if (refusal is None) != (invalid is None):
        report.mismatches += 1
        _keep(report, [Difference(file, line, scenario.name, -1, "invalid", invalid, refusal, ())])
        return
    report.steps += len(expected)
    wrong = [
        index
        for index in range(max(len(expected), len(decided)))
        if index >= len(expected) or index >= len(decided) or step_result(decided[index]) != expected[index]
    ]
    report.mismatches += len(wrong)
    if wrong and len(report.differences) < MAX_DIFFERENCES:
        accounts = _accounts(scenario, wrong)
        for index in wrong:
            got = step_result(decided[index]) if index < len(decided) else None
            fields = _fields(expected[index] if index < len(expected) else None, got)
            account = accounts.get(index, ())
            _keep(report, [Difference(file, line, scenario.name, index, *values, account) for values in fields])


def _decide(scenario: Scenario) -> tuple[list[Step], str | None]:
    """All decisions, or none and why the HPA or an edit of it is refused: a real result has no steps then either."""
    try:
        return list(run_scenario(scenario, with_account=False)), None
    except InvalidHpaError as error:
        return [], str(error)


def _accounts(scenario: Scenario, steps: list[int]) -> dict[int, tuple[str, ...]]:
    """The model's own account of these decisions: the scenario is decided once more, with accounts."""
    return {
        index: tuple(step.account.lines())
        for index, step in enumerate(run_scenario(scenario, with_account=True))
        if index in steps and step.account is not None
    }


def _fields(
    expected: Mapping[str, object] | None, got: Mapping[str, object] | None
) -> Iterator[tuple[str, object, object]]:
    """(field, expected, got) for each field that differs; conditions one by one."""
    if expected is None or got is None:
        yield "step", expected, got
        return
    for name in sorted({*expected, *got}):
        left, right = expected.get(name), got.get(name)
        if isinstance(left, dict) and isinstance(right, dict):
            for key in sorted({*left, *right}):
                if left.get(key) != right.get(key):
                    yield f"{name}.{key}", left.get(key), right.get(key)
        elif left != right:
            yield name, left, right


def _keep(report: Report, differences: list[Difference]) -> None:
    report.differences += differences[: MAX_DIFFERENCES - len(report.differences)]
