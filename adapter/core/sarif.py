"""SARIF 2.1.0: problems for code scanning. Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.

Only what is needed: one run, a rule for each code with its title, a result for each problem with its place.
"""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from adapter.core.lint_catalogue import CATALOGUE, Rule
from adapter.core.problems import Problem

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def as_sarif(problems: Sequence[Problem], version: str) -> Mapping[str, object]:
    """The log of one check by this version of the tool."""
    rules = [_rule(rule) for rule in CATALOGUE.values()]
    unknown = dict.fromkeys(problem.code for problem in problems if problem.code not in CATALOGUE)
    rules += [{"id": code} for code in unknown]  # those of an HPA by itself, which the API server's rules name
    places = {str(rule["id"]): place for place, rule in enumerate(rules)}
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": {"name": "scaleproof", "version": version, "rules": rules}},
                "columnKind": "unicodeCodePoints",
                "results": [_result(problem, places[problem.code]) for problem in problems],
            }
        ],
    }


def _rule(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.code,
        "shortDescription": {"text": rule.title},
        "help": {
            "text": f"{rule.title}. See {rule.page}.",
            "markdown": f"{rule.title}. See [{rule.code}]({rule.page}).",
        },
        "defaultConfiguration": {"level": str(rule.severity)},
    }


def _result(problem: Problem, rule: int) -> dict[str, object]:
    text = f"{problem.message}. Fix: {problem.fix}" if problem.fix else problem.message
    region = {"startLine": problem.position.line, "startColumn": problem.position.column}
    return {
        "ruleId": problem.code,
        "ruleIndex": rule,
        "level": str(problem.severity),
        "message": {"text": text},
        "locations": [
            {"physicalLocation": {"artifactLocation": {"uri": _uri(problem.file)}, "region": region}},
        ],
    }


def _uri(file: str) -> str:
    return f"file://{quote(file)}" if file.startswith("/") else quote(file.removeprefix("./"))
