"""The pages on testing and CI: the example runs and says what the page says, and every field and input is named."""

import json
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from adapter.cli import app
from sim.policy_tests.documents import CHECKS, FAULT_KINDS, Expectation, FaultItem, Replaying, TestDocument, TestItem
from sim.policy_tests.mutations import Mutation

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/testing.md").read_text()
CI_PAGE = (ROOT / "docs/ci.md").read_text()
FILES = dict(re.findall(r"^```yaml file=(\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_example_passes_and_ends_with_the_line_of_the_page(folder: Path) -> None:
    result = CliRunner().invoke(app, ["test", str(folder)])
    (said,) = re.findall(r"^```text\n(.*?)\n```", PAGE, re.MULTILINE | re.DOTALL)
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, said), result.output


def test_the_example_catches_the_mutations_that_the_page_says(folder: Path) -> None:
    result = CliRunner().invoke(app, ["test", str(folder), "--mutate", "--output", "json"])
    (file,) = json.loads(result.stdout)["files"]
    caught = {name for test in file["tests"] for name, what in test["mutations"].items() if what == "caught"}
    assert caught == {"targets-doubled", "missing-assumed-zero", "windows-dropped"}
    assert not any(test["toothless"] for test in file["tests"])
    assert result.exit_code == 0


def test_the_page_names_every_field_fault_and_mutation() -> None:
    models = (TestDocument, TestItem, FaultItem, Expectation, Replaying)
    names = {field.alias or name for model in models for name, field in model.model_fields.items()}
    names |= {*CHECKS, *FAULT_KINDS, *Mutation}
    assert {name for name in names if f"`{name}`" not in PAGE and f"`{name}:" not in PAGE} == set()


def test_the_page_on_ci_names_every_input_and_variable() -> None:
    action = yaml.safe_load((ROOT / "ci/github/action.yml").read_text())
    variables = re.findall(r"^  (SCALEPROOF_\w+):", (ROOT / "ci/gitlab/scaleproof.yml").read_text(), re.MULTILINE)
    assert len(variables) == 4
    assert [name for name in [*action["inputs"], *variables] if f"`{name}`" not in CI_PAGE] == []


def test_the_workflows_of_the_page_are_yaml_and_ask_for_inputs_that_there_are() -> None:
    github, gitlab = (yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", CI_PAGE, re.M | re.S))
    action = yaml.safe_load((ROOT / "ci/github/action.yml").read_text())
    step = github["jobs"]["scaling"]["steps"][1]
    assert set(step["with"]) <= set(action["inputs"])
    assert set(gitlab["variables"]) <= {"SCALEPROOF_POLICIES", "SCALEPROOF_TRACES"}
