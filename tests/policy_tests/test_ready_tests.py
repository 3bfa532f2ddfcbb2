"""Every ready policy has a test; each passes, and each catches a mutation."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from adapter.bundled import policies_folder
from adapter.cli import app

READY = policies_folder() / "ready"
POLICIES = sorted(
    path.name.removesuffix(".yaml")
    for path in READY.glob("*.yaml")
    if not path.name.endswith((".hpa.yaml", ".test.yaml"))
)


@pytest.mark.parametrize("name", POLICIES)
def test_a_ready_policy_does_what_its_test_says(name: str) -> None:
    result = CliRunner().invoke(app, ["test", str(READY / f"{name}.test.yaml")])
    assert result.exit_code == 0, result.output


@pytest.mark.slow
@pytest.mark.parametrize("name", POLICIES)
def test_the_tests_of_a_ready_policy_notice_what_is_made_wrong(name: str) -> None:
    result = CliRunner().invoke(app, ["test", str(READY / f"{name}.test.yaml"), "--mutate", "--output", "json"])
    assert result.exit_code == 0, result.output
    for test in json.loads(result.stdout)["files"][0]["tests"]:
        assert "caught" in test["mutations"].values(), test["name"]


def test_a_test_file_stands_beside_each_ready_policy() -> None:
    assert [name for name in POLICIES if not Path(READY / f"{name}.test.yaml").is_file()] == []
