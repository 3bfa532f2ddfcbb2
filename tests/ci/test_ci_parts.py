"""The GitHub Action and the GitLab template: their shapes, and their shell steps run against a small repository.

The keys are those of GitHub's "Metadata syntax" for composite actions and of GitLab's "CI/CD YAML syntax reference".
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from adapter_process import SCALEPROOF
from policy_folders import write_policy, write_tests

ROOT = Path(__file__).parents[2]
ACTION = ROOT / "ci/github/action.yml"
TEMPLATE = ROOT / "ci/gitlab/scaleproof.yml"

ACTION_KEYS = {"name", "author", "description", "inputs", "outputs", "runs", "branding"}
INPUT_KEYS = {"description", "required", "default", "deprecationMessage"}
STEP_KEYS = {"name", "id", "if", "run", "shell", "env", "uses", "with", "working-directory", "continue-on-error"}
JOB_KEYS = {"image", "stage", "extends", "before_script", "script", "rules", "variables", "artifacts"}
ARTIFACT_KEYS = {"when", "paths", "reports", "expose_as", "name", "expire_in"}

TESTS = """\
- name: the load doubles
  replicas: 3
  series: {flight: "30x19 60x20"}
  expect:
  - {at: 6m, replicas: NUMBER}
"""


class Reference(list[str]):
    """GitLab's `!reference [JOB, KEY]`."""


class Loader(yaml.SafeLoader):
    """YAML as GitLab reads it."""


Loader.add_constructor("!reference", lambda loader, node: Reference(loader.construct_sequence(node)))  # type: ignore[arg-type]


def action() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(ACTION.read_text())
    return found


def template() -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(TEMPLATE.read_text(), Loader)
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A git repository: on main a replica takes 10 requests, in the work tree 5; half an hour of 60 requests."""
    folder = tmp_path / "repository"
    write_tests(write_policy(folder / "policies"), TESTS.replace("NUMBER", "6"))
    (folder / "steady.csv").write_text("t_s,flight\n" + "".join(f"{15 * row},60\n" for row in range(41)))
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, timeout=30)
    write_tests(write_policy(folder / "policies", per_replica=5), TESTS.replace("NUMBER", "12"))
    return folder


def run(shell: str, script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A step as a runner starts it: bash with -e and pipefail on GitHub, sh with -e on GitLab."""
    command = {"bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"], "sh": ["sh", "-e"]}[shell]
    file = folder.parent / "step.sh"
    file.write_text(script)
    path = f"{Path(SCALEPROOF).parent}:{os.environ['PATH']}"
    environment = {"PATH": path, "HOME": str(folder.parent), "LANG": "C.UTF-8", **variables}
    return subprocess.run(
        [*command, str(file)], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def github(name: str, folder: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """A step of the action with its inputs, as GitHub would set its environment."""
    document = action()
    (step,) = [one for one in document["runs"]["steps"] if one["name"] == name]
    values = {key: one["default"] for key, one in document["inputs"].items()} | inputs
    variables = {
        key: re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: values[found[1]], text)
        for key, text in step["env"].items()
    }
    return run(step["shell"], step["run"], folder, **variables, GITHUB_STEP_SUMMARY=str(folder.parent / "summary.md"))


def gitlab(job: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script of a job with the template's variables and these."""
    document = template()
    return run("sh", "\n".join(document[job]["script"]), folder, **{**document["variables"], **variables})


def test_the_action_has_the_keys_that_github_documents_for_a_composite_action() -> None:
    found = action()
    assert set(found) <= ACTION_KEYS
    assert {"name", "description", "runs"} <= set(found)
    assert found["runs"]["using"] == "composite"
    for name, one in found["inputs"].items():
        assert set(one) <= INPUT_KEYS, name
        assert isinstance(one["default"], str), name
    for step in found["runs"]["steps"]:
        assert set(step) <= STEP_KEYS, step["name"]
        assert step["shell"] == "bash", "GitHub demands a shell for each run of a composite action"


def test_no_input_of_the_action_is_pasted_into_a_script() -> None:
    """What comes from a pull request goes through the environment, so that it cannot become a command."""
    found = action()
    used = "".join(str(step.get("env", "")) + str(step.get("if", "")) for step in found["runs"]["steps"])
    assert set(re.findall(r"inputs\.(\w+)", used)) == set(found["inputs"])
    assert not [step["name"] for step in found["runs"]["steps"] if "${{" in step["run"]]


def test_the_template_has_the_keys_that_gitlab_documents_for_jobs() -> None:
    found = template()
    jobs = {name: one for name, one in found.items() if name != "variables"}
    assert set(jobs) == {".scaleproof", "scaleproof-test", "scaleproof-diff"}
    for name, job in jobs.items():
        assert set(job) <= JOB_KEYS, name
        assert set(job.get("artifacts", {})) <= ARTIFACT_KEYS, name
        assert job.get("extends", ".scaleproof") in jobs, name
        assert name.startswith(".") or job["script"], name
        for line in job.get("before_script", []):
            assert not isinstance(line, Reference) or line[1] in jobs[line[0]]
    assert all(isinstance(value, str) for value in found["variables"].values())


def test_the_tests_pass_and_leave_their_junit_file(repository: Path) -> None:
    steps = (lambda: github("Test the policies", repository), lambda: gitlab("scaleproof-test", repository))
    for step in steps:
        ended = step()
        assert (ended.returncode, ended.stderr) == (0, "")
        assert "1 tests in 1 files: 1 passed" in ended.stdout
        junit = repository / "scaleproof-junit.xml"
        assert 'failures="0"' in junit.read_text()
        junit.unlink()


def test_a_test_that_fails_fails_the_step_and_is_told_at_its_line(repository: Path) -> None:
    write_tests(repository / "policies", TESTS.replace("NUMBER", "6"))
    ended = github("Test the policies", repository)
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[0] == (
        "::error file=policies/chat.test.yaml,line=8,col=5,title=expectation-failed"
        "::the load doubles: expected at 6m replicas 6; found replicas 12"
    )
    assert gitlab("scaleproof-test", repository).returncode == 1
    assert 'failures="1"' in (repository / "scaleproof-junit.xml").read_text()


def test_the_comparison_goes_to_the_summary_and_a_broken_threshold_fails(repository: Path) -> None:
    """
    41 syncs of 15 s from 1 replica, by at most 4 or the double a sync: 5 + 40 × 6 = 245 × 15 s = 1.0208 hours before,
    5 + 10 + 39 × 12 = 483 × 15 s = 2.0125 after, 1.97 times as much.
    """
    trace = "inference/chat=steady.csv\n"
    ended = github("Compare with the base", repository, base="main", traces=trace)
    summary = (repository.parent / "summary.md").read_text()
    assert (ended.returncode, ended.stderr) == (1, "")
    assert summary == ended.stdout
    assert summary.startswith("### scaleproof diff: worse")
    assert "| GPU-hours | 1.0208 | 2.0125 |" in summary
    allowed = "gpu_hours <= 2.1 * base_gpu_hours\nflaps <= base_flaps\n"
    assert github("Compare with the base", repository, base="main", traces=trace, thresholds=allowed).returncode == 0


def test_the_comparison_of_a_merge_request_is_an_artifact(repository: Path) -> None:
    variables = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": "main", "SCALEPROOF_TRACES": "steady.csv"}
    ended = gitlab("scaleproof-diff", repository, **variables)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert (repository / "scaleproof-diff.md").read_text().startswith("### scaleproof diff: worse")
    allowed = gitlab(
        "scaleproof-diff", repository, **variables, SCALEPROOF_THRESHOLDS="gpu_hours <= 2.1 * base_gpu_hours"
    )
    assert allowed.returncode == 0


def test_a_trace_with_a_shells_words_in_its_name_is_a_name_and_no_command(repository: Path) -> None:
    name = "$(touch owned) `touch owned`;touch owned"
    for ended in (
        github("Compare with the base", repository, base="main", traces=name),
        gitlab("scaleproof-diff", repository, CI_MERGE_REQUEST_DIFF_BASE_SHA="main", SCALEPROOF_TRACES=name),
    ):
        assert ended.returncode == 2
        assert "touch owned" in ended.stderr
    assert not (repository / "owned").exists()
