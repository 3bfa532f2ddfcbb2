"""Reporting: test results as text, JSON and JUnit; each expectation's actual beside it, with its place in the file."""

from collections.abc import Sequence
from xml.etree import ElementTree

from adapter.core.problems import Problem, Severity
from sim.policy_tests.expectations import Verdict
from sim.policy_tests.running import FileResult, Line, TestResult

_MARKS = {Verdict.PASS: "ok", Verdict.FAIL: "FAIL", Verdict.INCONCLUSIVE: "????"}


def as_text(files: Sequence[FileResult]) -> str:
    """For people."""
    lines: list[str] = []
    for file in files:
        lines.append(file.file)
        for result in file.results:
            lines.append(f"  {_MARKS[result.verdict]:<4} {result.name} ({result.syncs} syncs)")
            lines += [f"       {_line(file, line)}" for line in result.lines]
            if result.mutations:
                lines.append(f"       {_mutations(result)}")
        lines += [f"  TOOTHLESS: no test notices {mutation}" for mutation in file.unnoticed]
    return "\n".join([*lines, summary(files)])


def summary(files: Sequence[FileResult]) -> str:
    """The last line: how many of what."""
    results = [result for file in files for result in file.results]
    counts = [(sum(one.verdict is verdict for one in results), words) for verdict, words in _COUNTED]
    counts.append((sum(one.is_toothless for one in results), "toothless"))
    told = ", ".join(f"{count} {words}" for count, words in counts if count)
    return f"{len(results)} tests in {len(files)} files: {told or 'nothing ran'}"


_COUNTED = ((Verdict.PASS, "passed"), (Verdict.FAIL, "failed"), (Verdict.INCONCLUSIVE, "inconclusive"))


def _line(file: FileResult, line: Line) -> str:
    place = "" if line.finding.verdict is Verdict.PASS else f"{file.file}:{line.position.line}:{line.position.column}: "
    return f"{_MARKS[line.finding.verdict]:<4} {place}{line.finding.expected} | {line.finding.actual}"


def _mutations(result: TestResult) -> str:
    words = []
    for one in result.mutations:
        outcome = "caught" if one.is_caught else "makes no difference" if one.is_same else "SURVIVES"
        words.append(f"{one.mutation}: {outcome}")
    return ("TOOTHLESS: " if result.is_toothless else "mutations: ") + ", ".join(words)


def as_data(files: Sequence[FileResult]) -> dict[str, object]:
    """For machines."""
    return {
        "files": [
            {
                "file": file.file,
                "verdict": file.verdict,
                "unnoticed": list(file.unnoticed),
                "tests": [_test_data(result) for result in file.results],
            }
            for file in files
        ],
        "summary": summary(files),
    }


def _test_data(result: TestResult) -> dict[str, object]:
    return {
        "name": result.name,
        "line": result.position.line,
        "verdict": result.verdict,
        "syncs": result.syncs,
        "notes": list(result.notes),
        "expectations": [
            {
                "line": line.position.line,
                "column": line.position.column,
                "verdict": line.finding.verdict,
                "expected": line.finding.expected,
                "actual": line.finding.actual,
                "t": line.finding.t,
            }
            for line in result.lines
        ],
        "toothless": result.is_toothless,
        "mutations": {one.mutation: _outcome(one.is_caught, one.is_same) for one in result.mutations},
    }


def _outcome(is_caught: bool, is_same: bool) -> str:
    return "caught" if is_caught else "same" if is_same else "survived"


def as_problems(files: Sequence[FileResult]) -> list[Problem]:
    """What did not pass, each at its line of the test file: for annotations of a pull request and code scanning."""
    found = []
    for file in files:
        for result in file.results:
            for line in result.lines:
                finding = line.finding
                if finding.verdict is Verdict.PASS:
                    continue
                is_failure = finding.verdict is Verdict.FAIL
                code = "expectation-failed" if is_failure else "expectation-inconclusive"
                message = f"{result.name}: expected {finding.expected}; found {finding.actual}"
                severity = Severity.ERROR if is_failure else Severity.WARNING
                found.append(Problem(file.file, line.position, code, message, severity=severity))
            if result.is_toothless:
                message = f"{result.name}: no mutation makes this test fail"
                fix = "expect something that a wrong policy would not do"
                found.append(Problem(file.file, result.position, "test-toothless", message, fix))
        for mutation in file.unnoticed:
            message = f"no test of this file notices {mutation}"
            found.append(Problem(file.file, file.results[0].position, "mutation-unnoticed", message))
    return found


def as_junit(files: Sequence[FileResult]) -> str:
    """JUnit's XML: a suite a file, a case a test."""
    root = ElementTree.Element("testsuites")
    for file in files:
        attributes = {
            "name": file.file,
            "tests": str(len(file.results)),
            "failures": str(sum(one.verdict is Verdict.FAIL or one.is_toothless for one in file.results)),
            "skipped": str(sum(one.verdict is Verdict.INCONCLUSIVE for one in file.results)),
        }
        suite = ElementTree.SubElement(root, "testsuite", attributes)
        for result in file.results:
            case = ElementTree.SubElement(suite, "testcase", {"name": result.name, "classname": file.file})
            told = [line for line in result.lines if line.finding.verdict is not Verdict.PASS]
            text = "\n".join(_line(file, line) for line in told)
            if result.verdict is Verdict.FAIL or result.is_toothless:
                message = "expectations failed" if told else "no mutation makes this test fail"
                ElementTree.SubElement(case, "failure", {"message": message}).text = _xml(text)
            elif result.verdict is Verdict.INCONCLUSIVE:
                ElementTree.SubElement(case, "skipped", {"message": "inconclusive"}).text = _xml(text)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(one if one >= " " or one in "\n\t" else "�" for one in text)
