"""What is wrong with a test file is told with its place, and nothing is run."""

from pathlib import Path

import pytest
from policy_folders import write_policy, write_tests
from typer.testing import CliRunner

from adapter.cli import app

GOOD = '- name: a\n  replicas: 3\n  series: {flight: "30x38"}\n  expect:\n  - {at: 5m, replicas: 3}\n'


@pytest.mark.parametrize(
    ("tests", "place", "code"),
    [
        (GOOD.replace("replicas: 3\n  series", "replica: 3\n  series"), "5:3", "unknown-key"),
        (GOOD.replace("  series: {flight", "  serie: {flight"), "6:3", "unknown-key"),
        (GOOD.replace("30x38", "30y38"), "6:20", "series-values"),
        (GOOD.replace("{flight:", '{"fli ght":'), "6:12", "series-name"),
        (GOOD.replace("at: 5m, replicas: 3", "at: 5m"), "8:5", "expectation"),
        (GOOD.replace("at: 5m, replicas: 3", "replicas: 3"), "8:5", "expectation"),
        (GOOD.replace("at: 5m, replicas: 3", 'always: "replicas >"'), "8:14", "expression"),
        (GOOD.replace("at: 5m", "at: five"), "8:10", "value-invalid"),
        (GOOD + GOOD, "4:1", "test-name"),
        (GOOD.replace("  expect:\n  - {at: 5m, replicas: 3}\n", ""), "4:3", "toothless"),
        (GOOD + "  faults: [{kind: flood, at: 5m, for: 1m}]\n", "9:12", "fault-kind"),
        (GOOD + "  faults: [{kind: outage, at: 5m}]\n", "9:12", "fault-span"),
        (GOOD + "  policy: other\n", "9:11", "unknown-policy"),
        (GOOD.replace('series: {flight: "30x38"}', "trace: none.csv"), "6:10", "trace"),
    ],
)
def test_a_problem_has_its_line_and_column(tmp_path: Path, tests: str, place: str, code: str) -> None:
    path = write_tests(write_policy(tmp_path), tests)
    result = CliRunner().invoke(app, ["test", str(path)])
    assert result.exit_code == 2, result.output
    assert f"{path}:{place}: error" in result.stderr
    assert f"[{code}]" in result.stderr


def test_a_file_of_another_kind_below_a_folder_is_passed_over_with_a_word(tmp_path: Path) -> None:
    folder = write_policy(tmp_path)
    write_tests(folder, GOOD)
    (folder / "rules.test.yaml").write_text("rule_files: [a.yaml]\n")
    result = CliRunner().invoke(app, ["test", str(folder)])
    assert result.exit_code == 0, result.output
    assert "rules.test.yaml:1:1: warning" in result.stderr


def test_a_folder_without_tests_is_no_success(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["test", str(write_policy(tmp_path))])
    assert result.exit_code == 2
    assert "*.test.yaml" in result.stderr


def test_a_broken_policy_is_told_with_its_own_place(tmp_path: Path) -> None:
    folder = write_policy(tmp_path)
    path = write_tests(folder, GOOD)
    (folder / "chat.yaml").write_text((folder / "chat.yaml").read_text().replace("per_replica: 10", "per_replica: 0"))
    result = CliRunner().invoke(app, ["test", str(path)])
    assert result.exit_code == 2
    assert f"{folder / 'chat.yaml'}:8:" in result.stderr
