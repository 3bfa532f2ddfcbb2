"""`scaleproof replay`: outputs, exit statuses, what is said, and what is not loaded."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from policy_world import HEAD, LIBRARY, policy
from replay_worlds import WITH_N
from typer.testing import CliRunner

from adapter.new_policy import Answers, hpa_text, policy_text
from sim.hpa.manifest import read_manifests
from sim.policy_files import policies_of
from sim.replay.command import app
from sim.replay.default_hpa import default_hpa

TRACE = "t_s,queue\n" + "".join(f"{15 * index},{20 if index < 20 else 40}\n" for index in range(40))
HPA = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h, namespace: NAMESPACE}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}
  minReplicas: 1
  maxReplicas: 10
  metrics:
  - {type: External, external: {metric: {name: METRIC}, target: {type: AverageValue, averageValue: "1"}}}
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / name for name in ("policy.yaml", "trace.csv", "hpa.yaml")}
    found["policy.yaml"].write_text(HEAD + WITH_N)
    found["trace.csv"].write_text(TRACE)
    found["hpa.yaml"].write_text(HPA.replace("NAMESPACE", "prod").replace("METRIC", "queue"))
    return found


def invoke(files: dict[str, Path], *options: str, with_hpa: bool = True) -> Any:
    hpa = ["--hpa", str(files["hpa.yaml"])] if with_hpa else []
    return CliRunner().invoke(
        app, ["--policy", str(files["policy.yaml"]), "--trace", str(files["trace.csv"]), *hpa, *options]
    )


def test_json_lines_are_one_object_a_sync(files: dict[str, Path]) -> None:
    result = invoke(files, "--output", "jsonl", "--sync", "30s")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert result.exit_code == 0
    assert [line["t"] for line in lines] == list(range(0, 600, 30))
    assert lines[0] == {
        "t": 0,
        "metrics": {"queue": "2"},
        "replicas": 1,
        "desired": 2,
        "reasons": ["SucceededRescale", "ValidMetricFound", "DesiredWithinRange"],
        "ready": 1,
        "mode": "as-recorded",
    }
    assert "mode as-recorded: conclusive" in result.stderr


def test_text_has_the_log_the_chart_and_the_scores(files: dict[str, Path]) -> None:
    text = invoke(files).stdout
    assert "0 s  1 → 2" in text
    assert "█ ready" in text
    assert "mode as-recorded: conclusive" in text
    assert "replica-hours, GPU-hours" in text


def test_the_text_shows_every_sync_only_where_asked(files: dict[str, Path]) -> None:
    assert invoke(files, "--log", "all").stdout.count("ValidMetricFound") == 40
    assert "ValidMetricFound" not in invoke(files, "--log", "none").stdout


def test_the_summary_says_every_default_that_was_chosen(files: dict[str, Path]) -> None:
    data = json.loads(invoke(files, "--output", "json").stdout)
    assert data["mode"] == "as-recorded"
    assert data["result"] == "conclusive"
    assert data["parameters"]["startup"] == "0 s"
    assert data["parameters"]["kubernetes"] == "1.36"
    # 2 replicas from 0 s to 300 s (20 syncs), then 4 for 20 syncs of 15 s.
    assert data["scores"]["replica_hours"] == pytest.approx((20 * 2 + 20 * 4) * 15 / 3600, abs=1e-4)


def test_without_an_hpa_the_one_of_new_is_taken_and_said(files: dict[str, Path]) -> None:
    data = json.loads(invoke(files, "--output", "json", with_hpa=False).stdout)
    assert data["hpa"] == "generated"
    assert 'no --hpa: the one that `scaleproof new` writes, queue with averageValue "1"' in data["said"][0]
    assert "maxReplicas 10 (no ceiling is given)" in data["said"][0]


def test_the_generated_hpa_is_the_one_that_new_writes() -> None:
    answers = Answers("chat", "prod", "chat", "vllm", "chat", 10, 4.4, "120s", 15, 1, 12, has_tolerance=True)
    (loaded,) = policies_of(policy_text(answers, LIBRARY), "policy.yaml")
    (manifest,), _ = read_manifests(hpa_text(answers), "hpa.yaml")
    assert default_hpa(loaded)[0] == manifest.spec()


def test_the_target_of_a_total_is_what_one_replica_takes() -> None:
    loaded = policy(WITH_N.replace("metric: queue", "metric: queue, as: total"))
    assert default_hpa(loaded)[0].metrics[0].target_milli == 10_000


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("hpa.yaml", "namespace: prod", "namespace: dev"), "the HPA h is in the namespace dev, the policy in prod"),
        (("hpa.yaml", "name: queue", "name: cue"), "asks for cue; the policy publishes queue: it would get 404"),
        (("hpa.yaml", "maxReplicas: 10", "maxReplicas: 0"), "maxReplicas"),
        (("hpa.yaml", 'averageValue: "1"', 'averageValue: "0"'), "averageValue is 0, it must be positive"),
        (("policy.yaml", "per_replica: 10", "per_replica: -1"), "must be"),
        (("policy.yaml", "ScalingPolicy", "Deployment"), "ScalingPolicy"),
        (("trace.csv", "t_s", "time"), "the time 0 has no unit; say it with --time-unit"),
        (("trace.csv", "queue", "cue"), "none is in both"),
    ],
    ids=["namespace", "metric", "hpa", "target-0", "policy", "no-policy", "trace", "input"],
)
def test_bad_input_ends_with_2_and_its_reason(files: dict[str, Path], change: tuple[str, str, str], words: str) -> None:
    name, old, new = change
    text = files[name].read_text()
    assert old in text
    files[name].write_text(text.replace(old, new))
    result = invoke(files)
    assert (result.exit_code, words in result.stderr) == (2, True), result.stderr


@pytest.mark.parametrize("options", [["--sync", "0"], ["--startup", "lognormal:9s"], ["--kubernetes", "1.2"]])
def test_bad_usage_ends_with_2(files: dict[str, Path], options: list[str]) -> None:
    assert invoke(files, *options).exit_code == 2


def test_what_the_trace_cannot_show_ends_with_3(files: dict[str, Path]) -> None:
    text = files["policy.yaml"].read_text()
    text = text.replace("  terms:", "    gpu: {query: gpu, unit: ratio}\n  terms:")
    files["policy.yaml"].write_text(text)
    result = invoke(files)
    assert result.exit_code == 3
    assert "inconclusive: the trace has no samples of gpu" in result.stdout


def test_a_trace_that_is_too_short_ends_with_3(files: dict[str, Path]) -> None:
    files["trace.csv"].write_text("t_s,queue\n0,\n15,\n")
    result = invoke(files, "--output", "json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["result"] == "inconclusive"


def test_a_schedule_is_told_by_the_wall_clock_of_the_trace(files: dict[str, Path]) -> None:
    text = files["policy.yaml"].read_text()
    scheduled = 'metric: queue, schedule: [{cron: "0 8 * * *", zone: Europe/Berlin, for: 1h, floor: 7}]'
    files["policy.yaml"].write_text(text.replace("metric: queue", scheduled))
    result = invoke(files, "--output", "jsonl", "--start", "2026-11-03T07:55:00+01:00")
    metrics = {line["t"]: line["metrics"]["queue"] for line in map(json.loads, result.stdout.splitlines())}
    # 08:00 in Berlin is 300 s after 07:55.
    assert (metrics[285], metrics[300]) == ("2", "7")
    assert "1970-01-01T00:00:00Z" in invoke(files).stdout
    assert invoke(files, "--start", "2026-11-03T07:55").exit_code == 2


def test_parquet_holds_the_log(files: dict[str, Path], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    target = tmp_path / "log.parquet"
    assert invoke(files, "--output", "parquet", "--to", str(target)).exit_code == 0
    table = parquet.read_table(target)
    assert table.num_rows == 40
    assert table.column("metric:queue").to_pylist()[:1] == ["2"]
    assert table.column("desired").to_pylist()[-1] == 4
    assert table.schema.metadata[b"scaleproof.mode"] == b"as-recorded"


def test_parquet_wants_a_file(files: dict[str, Path]) -> None:
    result = invoke(files, "--output", "parquet")
    assert (result.exit_code, "--to FILE" in result.stderr) == (2, True)


def test_an_output_may_go_to_a_file(files: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "log.jsonl"
    assert invoke(files, "--output", "jsonl", "--to", str(target)).stdout == ""
    assert len(target.read_text().splitlines()) == 40


def test_a_replay_loads_neither_the_server_nor_the_cluster_nor_a_client(files: dict[str, Path]) -> None:
    code = (
        "import sys\nfrom sim.replay.command import app\n"
        f"try:\n    app({['--policy', str(files['policy.yaml']), '--trace', str(files['trace.csv'])]!r})\n"
        "except SystemExit as end:\n    assert end.code == 0, end.code\n"
        "print([name for name in ('aiohttp', 'kubernetes', 'requests', 'prometheus_client', 'pyarrow', 'numpy')"
        " if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines()[-1] == "[]"
