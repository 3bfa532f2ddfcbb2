"""The SARIF log against what SARIF 2.1.0 says of the parts that it has, and GitHub's workflow commands read back.

The schema below is our own, written from the standard's text; each part names its section. It knows only what the log
uses and allows nothing else, so that a property misspelt or misplaced is found.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import jsonschema
import pytest

from adapter.core.lint_catalogue import CATALOGUE
from adapter.core.problem_forms import as_github
from adapter.core.problems import Position, Problem, Severity
from adapter.core.sarif import as_sarif


def closed(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties, "additionalProperties": False}


LEVEL = {"enum": ["none", "note", "warning", "error"]}  # 3.27.10, 3.50.3
TEXT = {"type": "string", "minLength": 1}
MESSAGE = closed(["text"], {"text": TEXT, "markdown": TEXT})  # 3.11, 3.12: with markdown there must be text
RULE = closed(  # 3.49
    ["id"],
    {
        "id": TEXT,
        "shortDescription": MESSAGE,
        "help": MESSAGE,
        "defaultConfiguration": closed([], {"level": LEVEL}),
    },
)
REGION = closed(  # 3.30: lines and columns are counted from 1
    ["startLine"],
    {"startLine": {"type": "integer", "minimum": 1}, "startColumn": {"type": "integer", "minimum": 1}},
)
URI = {"type": "string", "pattern": r"^([a-z][a-z0-9+.-]*:)?[A-Za-z0-9._~%!$&'()*+,;=:@/-]+$"}  # 3.4.3, RFC 3986
LOCATION = closed(  # 3.28, 3.29
    ["physicalLocation"],
    {
        "physicalLocation": closed(
            ["artifactLocation"], {"artifactLocation": closed(["uri"], {"uri": URI}), "region": REGION}
        )
    },
)
RESULT = closed(  # 3.27
    ["message", "ruleId"],
    {
        "ruleId": TEXT,
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": LEVEL,
        "message": MESSAGE,
        "locations": {"type": "array", "items": LOCATION, "minItems": 1, "maxItems": 1},
    },
)
DRIVER = closed(  # 3.19
    ["name"], {"name": TEXT, "version": TEXT, "rules": {"type": "array", "items": RULE, "uniqueItems": True}}
)
RUN = closed(  # 3.14
    ["tool", "results"],
    {
        "tool": closed(["driver"], {"driver": DRIVER}),
        "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},  # 3.14.17
        "results": {"type": "array", "items": RESULT},
    },
)
LOG = closed(  # 3.13
    ["version", "runs"],
    {
        "$schema": {"type": "string", "pattern": "^https://"},
        "version": {"const": "2.1.0"},
        "runs": {"type": "array", "items": RUN, "minItems": 1},
    },
)


def sarif_of(problems: Sequence[Problem]) -> Mapping[str, object]:
    return as_sarif(problems, "0.1.0")


VALIDATOR = jsonschema.Draft202012Validator(LOG)


def problem(code: str, **changes: Any) -> Problem:
    given = {"file": "p.yaml", "position": Position(3, 7), "message": "m", "fix": "f", "severity": Severity.ERROR}
    return Problem(**{**given, **changes, "code": code})


PROBLEMS = [
    *(problem(code, severity=rule.severity) for code, rule in CATALOGUE.items()),
    problem("value-range", file="policies/a b#c?d.yaml", message='50 % of "x"\nand more', fix=""),
    problem("value-range", file="/abs/ü/p.yaml"),
    problem("quantity", file="h.yaml"),  # of an HPA by itself, which the catalogue does not have
]


@pytest.mark.parametrize("problems", [PROBLEMS, []], ids=["every-code", "none"])
def test_the_log_is_valid_sarif(problems: list[Problem]) -> None:
    log: Any = sarif_of(problems)
    assert [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(log)] == []
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert len({rule["id"] for rule in rules}) == len(rules)  # 3.19.23
    for result in log["runs"][0]["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]  # 3.27.6


def test_each_rule_of_the_catalogue_says_where_it_is_explained() -> None:
    log: Any = sarif_of([])
    for rule in log["runs"][0]["tool"]["driver"]["rules"]:
        assert CATALOGUE[rule["id"]].page in rule["help"]["text"]


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"position": Position(0, 7)}, "startLine"),
        ({"message": "", "fix": ""}, "message.text"),
    ],
    ids=["line-0", "no-text"],
)
def test_the_schema_refuses_what_the_standard_does(change: dict[str, Any], where: str) -> None:
    (error,) = VALIDATOR.iter_errors(sarif_of([problem("value-range", **change)]))
    assert error.json_path.endswith(where)


def read_command(text: str) -> tuple[str, dict[str, str], str]:
    """A workflow command as GitHub's runner reads it: properties split at commas, then what was escaped put back."""
    matched = re.fullmatch(r"::(\w+) ([^\n\r]*?)::([^\n\r]*)", text)
    assert matched is not None, text
    kind, properties, data = matched.groups()

    def back(value: str, *, is_property: bool) -> str:
        signs = {"%0D": "\r", "%0A": "\n", **({"%3A": ":", "%2C": ","} if is_property else {})}
        for escape, sign in signs.items():
            value = value.replace(escape, sign)
        return value.replace("%25", "%")

    pairs = (pair.partition("=") for pair in properties.split(","))
    return kind, {name: back(value, is_property=True) for name, _, value in pairs}, back(data, is_property=False)


@pytest.mark.parametrize("nasty", ["a,b:c", "100%", "%0A", "x::y", "a\r\nb", "::error::fake", "é ü 界", "a=b"])
def test_a_command_says_on_one_line_what_github_reads_back(nasty: str) -> None:
    one = problem("value-range", file=f"{nasty}.yaml", message=nasty, fix=nasty)
    kind, properties, data = read_command(as_github(one))
    assert kind == "error"
    assert properties == {"file": f"{nasty}.yaml", "line": "3", "col": "7", "title": "value-range"}
    assert data == f"{nasty}\nfix: {nasty}"
