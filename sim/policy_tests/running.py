"""Running: the tests of a file over the runner of replays, and over mutated policies where that is asked for."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.problems import Position
from sim.hpa.spec import Spec
from sim.policy_files import gpus_per_replica
from sim.policy_tests.documents import TestItem
from sim.policy_tests.expectations import Finding, Verdict, judge, judge_score, worst
from sim.policy_tests.mutations import Mutation, mutate
from sim.policy_tests.reading import TestFile
from sim.replay.parameters import ReplayError
from sim.replay.runner import Run
from sim.replay.steps import SyncStep
from sim.scores import Scorer

MAX_SYNCS = 1_000_000
"""A test holds its run in memory; 14 days at 15 s are 80,640 syncs."""


@dataclass(frozen=True, slots=True)
class Line:
    """One expectation's finding with its place in the test file."""

    position: Position
    finding: Finding


@dataclass(frozen=True, slots=True)
class MutationResult:
    """What a test made of one mutation: caught, or survived; `is_same` where not one sync differed."""

    mutation: Mutation
    is_caught: bool
    is_same: bool


@dataclass(frozen=True, slots=True)
class TestResult:
    """What became of one test."""

    __test__ = False

    name: str
    position: Position
    lines: tuple[Line, ...]
    notes: tuple[str, ...] = ()
    syncs: int = 0
    mutations: tuple[MutationResult, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of its lines."""
        return worst(line.finding.verdict for line in self.lines)

    @property
    def is_toothless(self) -> bool:
        """Whether it was tried with mutations, and passes whatever is made wrong."""
        return bool(self.mutations) and not any(one.is_caught for one in self.mutations)


@dataclass(frozen=True, slots=True)
class FileResult:
    """What became of a file; `unnoticed` are the mutations that change a run and that no test of it catches."""

    file: str
    results: tuple[TestResult, ...]
    unnoticed: tuple[Mutation, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of its tests."""
        return worst(result.verdict for result in self.results)

    @property
    def has_teeth(self) -> bool:
        """Whether each test catches something and each mutation is caught, so far as was tried."""
        return not self.unnoticed and not any(result.is_toothless for result in self.results)


Progress = Callable[[str], None]


def run_file(
    file: TestFile, chosen: Callable[[str], bool], with_mutations: bool, progress: Progress = lambda _: None
) -> FileResult:
    """Run the chosen tests of a file."""
    results = []
    for number, test in enumerate(file.asked.tests):
        if chosen(test.name):
            progress(test.name)
            results.append(_run_test(file, number, test, with_mutations))
    return FileResult(str(file.path), tuple(results), tuple(_unnoticed(results)))


def _unnoticed(results: Sequence[TestResult]) -> Iterator[Mutation]:
    for mutation in Mutation:
        tried = [one for result in results for one in result.mutations if one.mutation is mutation]
        if tried and not any(one.is_caught for one in tried) and not all(one.is_same for one in tried):
            yield mutation


def _run_test(file: TestFile, number: int, test: TestItem, with_mutations: bool) -> TestResult:
    policies, hpa = file.subject_of(test)
    position = file.place("tests", number, "name")
    try:
        steps, run = _steps(file, test, policies, hpa)
    except ReplayError as error:
        finding = Finding("the run", str(error), Verdict.INCONCLUSIVE)
        return TestResult(test.name, position, (Line(position, finding),))
    lines = _judged(file, number, test, steps, run)
    mutations: list[MutationResult] = []
    if with_mutations and worst(line.finding.verdict for line in lines) is Verdict.PASS:
        for mutation in Mutation:
            other, other_run = _steps(file, test, *mutate(mutation, policies, hpa))
            wrong = worst(line.finding.verdict for line in _judged(file, number, test, other, other_run))
            mutations.append(MutationResult(mutation, wrong is Verdict.FAIL, _told(other) == _told(steps)))
    return TestResult(test.name, position, tuple(lines), tuple(run.notes), len(steps), tuple(mutations))


def _steps(file: TestFile, test: TestItem, policies: Sequence[LoadedPolicy], hpa: Spec) -> tuple[list[SyncStep], Run]:
    faults = [item.fault() for item in test.faults]
    run = Run(policies, file.traces[test.name], hpa, file.asked.replay.parameters(test.replicas), faults)
    expected = run.expected_syncs()
    if not 0 < expected <= MAX_SYNCS:
        raise ReplayError(f"the trace makes {expected} syncs, a test has 1 to {MAX_SYNCS}")
    return list(run.steps()), run


def _judged(file: TestFile, number: int, test: TestItem, steps: list[SyncStep], run: Run) -> list[Line]:
    lines = [
        Line(file.place("tests", number, "expect", index), judge(expected, steps))
        for index, expected in enumerate(test.expect)
    ]
    if test.scores:
        scores = measured(run, steps)
        lines += [
            Line(file.place("tests", number, "scores", index), judge_score(threshold, scores))
            for index, threshold in enumerate(test.scores)
        ]
    if run.untold:
        position = file.place("tests", number, "name")
        lines.append(
            Line(position, Finding("the trace tells all that is asked", "; ".join(run.untold), Verdict.INCONCLUSIVE))
        )
    return lines


def measured(run: Run, steps: Sequence[SyncStep]) -> dict[str, float]:
    """The scores of a run by name, those that could be measured."""
    gpus = gpus_per_replica(run.policies[0])
    scorer = Scorer(run.parameters.sync + run.parameters.hpa_latency, run.hpa.maximum, gpus)
    for step in steps:
        scorer.add(step)
    return scorer.scores().numbers()


def _told(steps: Sequence[SyncStep]) -> list[tuple[object, ...]]:
    """What a run did, to tell whether two are the same."""
    return [(step.desired, tuple((one.text, one.reason) for one in step.metrics)) for step in steps]
