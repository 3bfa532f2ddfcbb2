"""How `check` shows problems: the line with a caret, GitHub's workflow commands, SARIF; and its options for HPAs."""

import json
import os
import pty
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from adapter_process import SCALEPROOF
from typer.testing import CliRunner

from adapter.cli import app
from adapter.core.problem_forms import as_github
from adapter.core.problems import Position, Problem, Severity
from adapter.core.sarif import as_sarif
from adapter.problem_reports import as_text

ROOT = Path(__file__).parents[2]
LINT_PAGE = (ROOT / "docs/lints/hpa-tolerance-dropped.md").read_text()
POLICY, _, HPA = re.findall(r"## Example\n\n```yaml\n(.*?)^```", LINT_PAGE, re.M | re.S)[0].partition("---\n")


def problem(line: int = 1, column: int = 1, message: str = "m", fix: str = "", file: str = "p.yaml") -> Problem:
    return Problem(file, Position(line, column), "value-range", message, fix)


def shown(one: Problem, *lines: str) -> list[str]:
    return as_text(one, lines).plain.split("\n")


def test_the_caret_stands_under_the_column_of_the_line() -> None:
    assert shown(problem(2, 4, fix="f"), "a: 1", "b: 2") == [
        "p.yaml:2:4: error: m [value-range]",
        "      2 | b: 2",
        "        |    ^",
        "    fix: f",
    ]


def test_a_wide_character_before_the_column_takes_two_places() -> None:
    assert shown(problem(1, 4), "界: 2")[2] == "        |     ^"


def test_a_long_line_is_cut_around_the_column() -> None:
    line = "x" * 500 + "Y" + "x" * 500
    _, excerpt, caret = shown(problem(1, 501), line)
    assert excerpt == "      1 | …" + "x" * 40 + "Y" + "x" * 79 + "…"
    assert excerpt[caret.index("^")] == "Y"


def test_a_place_that_the_file_does_not_have_has_no_excerpt() -> None:
    assert shown(problem(9, 1), "a: 1") == ["p.yaml:9:1: error: m [value-range]"]


def test_characters_that_a_terminal_obeys_are_replaced() -> None:
    text = as_text(problem(1, 1, message="key \x1b[2J", fix="a\nb"), ["a\x1b[31m\tb"]).plain
    assert "\x1b" not in text
    assert text.count("\n") == 3
    assert "key \N{REPLACEMENT CHARACTER}[2J" in text


def test_github_gets_one_line_with_what_would_end_it_escaped() -> None:
    one = problem(3, 7, message="50% of a,b: c\nd", fix="e", file="a,b:c.yaml")
    assert as_github(one) == (
        "::error file=a%2Cb%3Ac.yaml,line=3,col=7,title=value-range::50%25 of a,b: c%0Ad%0Afix: e"
    )


def test_sarif_has_a_rule_for_every_result_and_places_from_one() -> None:
    warning = Problem("dir/p q.yaml", Position(4, 2), "hold-long", "m", "f", Severity.WARNING)
    foreign = Problem("/abs/h.yaml", Position(1, 1), "quantity", "m")
    log: Any = as_sarif([problem(3, 7), warning, foreign], "1.2.3")
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert log["version"] == "2.1.0"
    assert [rules[one["ruleIndex"]]["id"] for one in run["results"]] == ["value-range", "hold-long", "quantity"]
    assert [one["level"] for one in run["results"]] == ["error", "warning", "error"]
    assert len({rule["id"] for rule in rules}) == len(rules)
    places = [one["locations"][0]["physicalLocation"] for one in run["results"]]
    assert [place["artifactLocation"]["uri"] for place in places] == ["p.yaml", "dir/p%20q.yaml", "file:///abs/h.yaml"]
    assert places[0]["region"] == {"startLine": 3, "startColumn": 7}
    assert run["results"][1]["message"]["text"] == "m. Fix: f"


def check(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCALEPROOF, "check", *arguments], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    (tmp_path / "chat.yaml").write_text(POLICY)
    (tmp_path / "hpa.yaml").write_text(HPA)
    return tmp_path


def test_a_good_pair_of_policy_and_hpa_passes(pair: Path) -> None:
    ended = check(pair, "chat.yaml", "--hpa", "hpa.yaml")
    assert (ended.returncode, ended.stdout) == (0, "1 file, 1 good policy, 0 errors, 0 warnings\n")


def test_the_hpa_is_held_against_the_policies_and_the_version_of_the_cluster(pair: Path) -> None:
    (pair / "hpa.yaml").write_text(HPA.replace("name: chat-replicas}", "name: chat}"))
    ended = check(pair, "chat.yaml", "--hpa", "hpa.yaml", "--output", "json")
    (found,) = json.loads(ended.stdout)["problems"]
    assert (ended.returncode, found["code"], found["file"]) == (1, "hpa-metric-unknown", "hpa.yaml")
    # the line of `metric: {name: chat}` in the HPA, and the column of its value
    line = (pair / "hpa.yaml").read_text().splitlines()[found["line"] - 1]
    assert line[found["column"] - 1 :] == "chat}"
    (pair / "hpa.yaml").write_text(HPA)
    old = check(pair, "chat.yaml", "--hpa", "hpa.yaml", "--kubernetes", "1.34", "--output", "github")
    assert [line.partition("::")[2].split(" ")[0] for line in old.stdout.splitlines()] == ["warning", "warning"]
    assert old.returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--hpa", "hpa.yaml", "--kubernetes", "new"),
        ("--hpa", "nosuch.yaml"),
        ("--prometheus", "prometheus:9090"),
        ("--output", "xml"),
    ],
    ids=["version", "hpa", "prometheus", "output"],
)
def test_a_wrong_option_is_bad_usage(pair: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(pair)
    assert CliRunner().invoke(app, ["check", "chat.yaml", *options]).exit_code == 2


def test_on_a_terminal_problems_are_coloured_and_in_a_pipe_they_are_plain(pair: Path) -> None:
    (pair / "chat.yaml").write_text(POLICY.replace("per_replica: 10", "per_replica: 0"))
    plain = check(pair, "chat.yaml").stdout
    assert "\x1b" not in plain
    reading, writing = pty.openpty()
    try:
        subprocess.run(
            [SCALEPROOF, "check", "chat.yaml"],
            cwd=pair,
            stdout=writing,
            env={**os.environ, "TERM": "xterm-256color"},
            timeout=60,
        )
        coloured = os.read(reading, 65536).decode()
    finally:
        os.close(writing)
        os.close(reading)
    assert "\x1b[1;31m" in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace("\r\n", "\n") == plain
