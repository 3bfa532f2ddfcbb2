"""Reading: a test file with its policy, its HPA and its traces, or the problems of all of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from adapter.core.documents import Document, read_documents
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Position, Problem, Severity, has_errors
from adapter.core.samples import labels_of
from sim.hpa.manifest import Manifest, read_manifests
from sim.hpa.spec import Spec
from sim.policy_tests.documents import TestDocument, TestItem
from sim.policy_tests.series_notation import NotationError, expand
from sim.traces.opening import open_trace
from sim.traces.plain_csv import parse_column
from sim.traces.trace import Trace, TraceError, TraceSample, hold

SUFFIXES = (".test.yaml", ".test.yml")
MAX_FILE_BYTES = 1_000_000
KIND = "ScalingTest"


@dataclass(frozen=True, slots=True)
class TestFile:
    """A test file that can be run: each test with the policies (its own first), the HPA and the trace."""

    __test__ = False

    path: Path
    document: Document
    asked: TestDocument
    policies: tuple[LoadedPolicy, ...]
    hpas: tuple[Manifest, ...]
    traces: Mapping[str, Trace]

    def place(self, *path: str | int) -> Position:
        """Where something stands in the file."""
        return self.document.value_at(path)

    def policy_of(self, test: TestItem) -> LoadedPolicy:
        """The policy that the test names, else the first of the file."""
        return next((one for one in self.policies if one.policy.metadata.name == test.policy), self.policies[0])

    def hpa_of(self, test: TestItem) -> Manifest:
        """The HPA that the test names, else the first that asks for the metric of the policy under test."""
        if test.hpa is not None:
            return next(one for one in self.hpas if one.name == test.hpa)
        metric = self.policy_of(test).policy.spec.publish.metric.lower()
        return next((one for one in self.hpas if metric in one.external_metrics), self.hpas[0])

    def subject_of(self, test: TestItem) -> tuple[list[LoadedPolicy], Spec]:
        """The policies that the test's HPA asks, the one under test first, and the HPA."""
        manifest, first = self.hpa_of(test), self.policy_of(test)
        others = [
            one
            for one in self.policies
            if one is not first and one.policy.spec.publish.metric.lower() in manifest.external_metrics
        ]
        return [first, *others], manifest.spec()


def find_test_files(paths: list[Path]) -> list[Path]:
    """The test files among files and below folders, in order; FileNotFoundError for what does not exist."""
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise FileNotFoundError(path)
        if path.is_file():
            found.append(path)
        else:
            found += sorted(one for one in path.rglob("*") if one.name.endswith(SUFFIXES) and one.is_file())
    return list(dict.fromkeys(found))


def read_test_file(path: Path, library: PresetLibrary) -> tuple[TestFile | None, list[Problem]]:
    """A test file and what belongs to it; None where a problem forbids to run it."""
    text, problems = _text(path, str(path), Position())
    if text is None:
        return None, problems
    documents, problems = read_documents(text, str(path))
    if problems:
        return None, problems
    if len(documents) != 1:
        message = f"{len(documents)} YAML documents, a test file is one"
        return None, [Problem(str(path), Position(), "test-document", message, "write one document with all tests")]
    document = documents[0]
    if not isinstance(document.value, dict) or document.value.get("kind") != KIND:
        message = f"the document says no `kind: {KIND}`, so it is passed over"
        fix = f"write apiVersion: scaleproof.dev/v1alpha1 and kind: {KIND}"
        return None, [Problem(str(path), Position(), "not-a-test", message, fix, Severity.WARNING)]
    try:
        asked = TestDocument.model_validate(document.value)
    except ValidationError as error:
        return None, [_problem(document, one) for one in error.errors(include_url=False)]
    stem = path.name.removesuffix(".yaml").removesuffix(".yml").removesuffix(".test")
    policies, wrong = _policies(path, stem, asked, document, library)
    problems += wrong
    hpas, wrong = _hpas(path, stem, asked, document)
    problems += wrong
    traces, wrong = _traces(path, asked, document, policies)
    problems += wrong
    problems += _names(asked, document, policies, hpas)
    if has_errors(problems) or not policies or not hpas:
        return None, problems
    return TestFile(path, document, asked, tuple(policies), tuple(hpas), traces), problems


def _text(path: Path, file: str, place: Position) -> tuple[str | None, list[Problem]]:
    try:
        data = path.read_bytes()
        if len(data) > MAX_FILE_BYTES:
            raise ValueError(f"it has {len(data)} bytes, at most {MAX_FILE_BYTES} are read")
        return data.decode("utf-8"), []
    except (OSError, ValueError) as error:
        words = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
        message = f"{path} cannot be read: {words}"
        return None, [Problem(file, place, "file-unreadable", message, "name a readable UTF-8 file")]


def _policies(
    path: Path, stem: str, asked: TestDocument, document: Document, library: PresetLibrary
) -> tuple[list[LoadedPolicy], list[Problem]]:
    file = path.parent / (asked.policy or f"{stem}.yaml")
    text, problems = _text(file, str(path), document.value_at(("policy",)))
    if text is None:
        return [], problems
    loaded, problems = read_policies(text, str(file), library)
    if not loaded and not problems:
        message = f"{file} has no ScalingPolicy"
        problems = [Problem(str(path), document.value_at(("policy",)), "no-policy", message, "name the policy's file")]
    return loaded, [one for one in problems if has_errors([one])]


def _hpas(path: Path, stem: str, asked: TestDocument, document: Document) -> tuple[list[Manifest], list[Problem]]:
    file = path.parent / (asked.hpa or f"{stem}.hpa.yaml")
    text, problems = _text(file, str(path), document.value_at(("hpa",)))
    if text is None:
        return [], problems
    hpas, problems = read_manifests(text, str(file))
    return hpas, [one for one in problems if has_errors([one])]


def _traces(
    path: Path, asked: TestDocument, document: Document, policies: list[LoadedPolicy]
) -> tuple[dict[str, Trace], list[Problem]]:
    traces: dict[str, Trace] = {}
    problems: list[Problem] = []
    for number, test in enumerate(asked.tests):
        where = ("tests", number)
        try:
            if test.trace is not None:
                traces[test.name] = open_trace(path.parent / test.trace)
                continue
            step = test.step or (policies[0].policy.spec.scrape_interval if policies else 15.0)
            traces[test.name], wrong = _series(test, step, document, (*where, "series"))
            problems += wrong
        except TraceError as error:
            place = document.value_at((*where, "trace" if test.trace is not None else "series"))
            problems.append(Problem(str(path), place, "trace", str(error), "give a trace that can be read"))
    return traces, problems


def _series(
    test: TestItem, step: float, document: Document, where: tuple[str | int, ...]
) -> tuple[Trace, list[Problem]]:
    samples: list[TraceSample] = []
    problems: list[Problem] = []
    for key, text in test.series.items():
        place = document.value_at((*where, key))
        column = parse_column(key)
        if column is None:
            message = f'"{key}" is no series: write the name of an input, e.g. waiting or waiting{{pod=a}}'
            problems.append(
                Problem(document.file, document.key_at((*where, key)), "series-name", message, "name an input")
            )
            continue
        try:
            values = expand(text)
        except NotationError as error:
            message, fix = f"{key}: {error} (character {error.column})", "write e.g. 0x20 40x40 _x21 5x60"
            problems.append(Problem(document.file, place, "series-values", message, fix))
            continue
        name, labels = column
        rows = ((number * step, value) for number, value in enumerate(values))
        samples += [
            TraceSample(time, name, value, labels_of(dict(labels))) for time, value in rows if value is not None
        ]
    return (hold(samples, document.file) if not problems else hold([TraceSample(0, "none", 0)])), problems


def _names(
    asked: TestDocument, document: Document, policies: list[LoadedPolicy], hpas: list[Manifest]
) -> list[Problem]:
    """Tests that name a policy or an HPA which the files do not have."""
    problems = []
    known = {"policy": [one.policy.metadata.name for one in policies], "hpa": [one.name for one in hpas]}
    for number, test in enumerate(asked.tests):
        for kind, names in known.items():
            said = getattr(test, kind)
            if names and said is not None and said not in names:
                place = document.value_at(("tests", number, kind))
                fix = f"write one of {', '.join(names)}"
                problems.append(Problem(document.file, place, f"unknown-{kind}", f'no {kind} is called "{said}"', fix))
    return problems


def _problem(document: Document, error: Mapping[str, Any]) -> Problem:
    path = tuple(step for step in error["loc"] if step not in ("function-before", "function-after"))
    path = tuple("for" if step == "for_" else step for step in path)
    kind, context = error["type"], error.get("ctx") or {}
    where = ".".join(str(step) for step in path) or "the document"
    if kind == "extra_forbidden":
        message = f'"{path[-1]}" is no key of a test file'
        return Problem(document.file, document.key_at(path), "unknown-key", message, "see docs/testing.md")
    if kind == "missing":
        message = f"{path[-1]} is required"
        return Problem(document.file, document.value_at(path[:-1]), "required-key", message, f"add {path[-1]}")
    code = kind if "fix" in context else "value-invalid"
    fix = str(context.get("fix", "see docs/testing.md"))
    return Problem(document.file, document.value_at(path), code, f"{where}: {error['msg']}", fix)
