"""Making a report beside a replay: it takes the syncs as they come, plays the baseline first, and writes at the end."""

from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from adapter.core.documents import read_documents
from sim.faults import Fault
from sim.policy_tests.documents import FaultItem
from sim.replay.parameters import ReplayError
from sim.replay.runner import Run
from sim.replay.steps import SyncStep
from sim.replay.summary import Summary
from sim.report.document import ReportError, report, write_report
from sim.report.ghost import Ghost
from sim.report.points import Collector
from sim.scores import Scorer

MAX_FAULT_CHARACTERS = 10_000


class ReportMaker:
    """One report of one run."""

    def __init__(self, file: Path, run: Run, faults: tuple[Fault, ...], ghost: Ghost | None) -> None:
        if not file.parent.is_dir():
            raise ReportError(f"{file}: the folder does not exist")  # told before a long run, not after it
        self._file, self._faults, self._ghost = file, faults, ghost
        self._kept = Collector(run.expected_syncs(), ghost)

    def add(self, step: SyncStep) -> None:
        """Take one sync."""
        self._kept.add(step)

    def finish(self, summary: Summary) -> None:
        """Write the file."""
        self._kept.finish()
        write_report(self._file, report(summary, self._kept, self._faults, self._ghost))


def play_ghost(name: str, run: Run, gpus_per_replica: float, metrics: int) -> Ghost:
    """Play the baseline: the same trace, parameters and seed."""
    scorer = Scorer(run.parameters.sync + run.parameters.hpa_latency, run.hpa.maximum, gpus_per_replica)

    def scored() -> Iterator[SyncStep]:
        for step in run.steps():
            scorer.add(step)
            yield step

    ghost = Ghost(name, scored(), metrics)
    ghost.scores = scorer.scores()
    return ghost


def parse_fault(text: str) -> Fault:
    """A fault as a test file has it, e.g. {kind: outage, at: 10m, for: 5m}; ReplayError says what is wrong."""
    if len(text) > MAX_FAULT_CHARACTERS:
        raise ReplayError("a fault has at most 10,000 characters")
    documents, problems = read_documents(text, "--fault")
    if problems or len(documents) != 1:
        raise ReplayError("; ".join(map(str, problems)) or f"--fault {text!r} is no mapping")
    try:
        return FaultItem.model_validate(documents[0].value).fault()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        fix = (first.get("ctx") or {}).get("fix", "write e.g. {kind: outage, at: 10m, for: 5m}")
        where = ".".join(map(str, first["loc"]))
        raise ReplayError(f"--fault {text}: {where + ': ' if where else ''}{first['msg']}; {fix}") from error
