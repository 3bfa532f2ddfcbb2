"""`scaleproof diff` on a small policy: 60 requests in flight for ten minutes, 10 of them one replica's, then 5."""

import json
import subprocess
from pathlib import Path

import pytest
from policy_folders import write_policy, write_tests
from typer.testing import CliRunner

from adapter.cli import app


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["diff", *map(str, arguments)])
    return result.exit_code, result.stdout or result.stderr


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "steady.csv"
    path.write_text("t_s,flight\n" + "".join(f"{15 * row},60\n" for row in range(41)))
    return path


def test_half_the_target_doubles_the_replicas_and_breaks_the_threshold_of_cost(tmp_path: Path, trace: Path) -> None:
    """
    From 6 replicas: the base stays, 41 syncs of 15 s, 6 × 615 s = 1.025 replica-hours. The candidate asks for 12 at the
    first sync and gets them: 12 × 615 s = 2.05.
    """
    base, candidate = write_policy(tmp_path / "base"), write_policy(tmp_path / "candidate", per_replica=5)
    status, output = run(base, candidate, "--trace", trace, "--replicas", 6, "--output", "json")
    found = json.loads(output)
    (one,) = found["comparisons"]
    assert (status, found["verdict"], found["policies"]["changed"]) == (1, "worse", ["inference/chat"])
    assert (one["base"]["replica_hours"], one["candidate"]["replica_hours"]) == (1.025, 2.05)
    assert one["differing_syncs"] == 41
    assert one["first_difference"]["t"] == 30
    assert one["first_difference"]["candidate"].startswith("6 → 12 (chat-replicas 12;")
    assert [each["holds"] for each in one["thresholds"]] == [False, True, True, True]
    status, _ = run(
        base, candidate, "--trace", trace, "--threshold", "gpu_hours <= 2 * base_gpu_hours", "--replicas", 6
    )
    assert status == 0


def test_what_did_not_change_is_not_replayed(tmp_path: Path, trace: Path) -> None:
    base, same = write_policy(tmp_path / "base"), write_policy(tmp_path / "same")
    (same / "chat.yaml").write_text("# only a comment\n" + (same / "chat.yaml").read_text())
    write_tests(same, "- name: a\n")
    status, output = run(base, same, "--trace", trace)
    assert (status, output.splitlines()[0]) == (0, "no policy, preset or HPA changed")


def test_a_change_of_the_hpa_alone_is_a_change(tmp_path: Path, trace: Path) -> None:
    base, candidate = write_policy(tmp_path / "base"), write_policy(tmp_path / "candidate", window=60)
    status, output = run(base, candidate, "--trace", trace)
    assert status == 0
    assert "changed: inference/chat" in output
    assert "every decision is the same" in output


def test_a_change_of_a_preset_shows_in_the_policies_that_use_it(tmp_path: Path, trace: Path) -> None:
    folders = [write_policy(tmp_path / name) for name in ("base", "candidate")]
    for folder, metric in zip(folders, ("busy", "in_flight"), strict=True):
        policy = (folder / "chat.yaml").read_text().replace('{query: "flight", unit: count}', "{preset: own/load}")
        (folder / "chat.yaml").write_text(policy)
        (folder / "own.yaml").write_text(preset_family(metric))
    status, output = run(*folders, "--trace", trace)
    assert status == 0, output
    assert "changed: inference/chat" in output


def preset_family(metric: str) -> str:
    return f"""\
apiVersion: scaleproof.dev/v1alpha1
kind: PresetFamily
family: own
presets:
  load:
    about: Requests in flight.
    unit: count
    series:
      value: {{metric: {metric}}}
"""


def test_revisions_of_git_are_read_without_a_checkout(
    tmp_path: Path, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = tmp_path / "repository"
    write_policy(repository / "policies")
    git = ["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *arguments], check=True)
    write_policy(repository / "policies", per_replica=5)
    monkeypatch.chdir(repository)
    status, output = run("HEAD", "policies", "--trace", trace, "--replicas", 6, "--output", "markdown")
    assert status == 1
    assert output.startswith("### scaleproof diff: worse\n")
    assert "| replica-hours | 1.025 | 2.05 | +1.025 (+100.0 %) |" in output
    assert run("HEAD:policies", "HEAD", "--trace", trace)[0] == 0
    assert run("nowhere", "policies", "--trace", trace) == (
        2,
        'error: "nowhere" is no file or folder, and git says: fatal: Not a valid object name nowhere\n',
    )


def test_what_cannot_be_used_is_status_2_with_words(tmp_path: Path, trace: Path) -> None:
    base = write_policy(tmp_path / "base")
    candidate = write_policy(tmp_path / "candidate", per_replica=0)
    status, output = run(base, candidate, "--trace", trace)
    assert status == 2
    assert "candidate/chat.yaml:8:" in output
    status, output = run(base, base, "--trace", trace, "--threshold", "flaps <")
    assert (status, "--threshold 'flaps <'" in output) == (2, True)


def test_the_markdown_is_appended_for_a_step_summary(tmp_path: Path, trace: Path) -> None:
    base, candidate = write_policy(tmp_path / "base"), write_policy(tmp_path / "candidate", per_replica=5)
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    assert run(base, candidate, "--trace", trace, "--summary", summary, "--gpu-hour-price", 2)[0] == 1
    text = summary.read_text()
    assert text.startswith("before\n### scaleproof diff: worse")
    assert "| cost |" in text
