"""The alert rules, run by Prometheus' own tool on series written by hand; the metrics that they read must exist."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from adapter.bundled import load_presets
from adapter.metric_catalogue import BY_NAME

ROOT = Path(__file__).parents[2]
RULES = ROOT / "manifests/components/prometheus-rule"
CASES = Path(__file__).parent
FILES = ("adapter", "workload")
RUNBOOKS = ROOT / "docs/alerts.md"


def rule_groups(name: str) -> dict[str, Any]:
    """What Prometheus itself reads: the operator's object without its envelope."""
    document: dict[str, Any] = yaml.safe_load((RULES / f"{name}-alerts.yaml").read_text())
    return document["spec"]


def alerts(name: str) -> list[dict[str, Any]]:
    return [rule for group in rule_groups(name)["groups"] for rule in group["rules"] if "alert" in rule]


def promtool(*arguments: str | Path, folder: Path) -> str:
    executable = shutil.which("promtool")
    assert executable, "`promtool` is not on PATH: run `make packages`"
    finished = subprocess.run([executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The rules as files of Prometheus, and the cases beside them."""
    for name in FILES:
        (tmp_path / f"{name}-alerts.yaml").write_text(yaml.safe_dump(rule_groups(name)))
        shutil.copy(CASES / f"{name}.test.yaml", tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_promtool_takes_every_rule(name: str, folder: Path) -> None:
    rules = [rule for group in rule_groups(name)["groups"] for rule in group["rules"]]
    assert f"{len(rules)} rules found" in promtool("check", "rules", f"{name}-alerts.yaml", folder=folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_the_alerts_fire_and_keep_quiet_on_the_series_of_the_cases(name: str, folder: Path) -> None:
    assert "SUCCESS" in promtool("test", "rules", f"{name}.test.yaml", folder=folder)


@pytest.mark.parametrize("name", FILES)
def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not(name: str) -> None:
    fires, quiet = set(), set()
    for case in yaml.safe_load((CASES / f"{name}.test.yaml").read_text())["tests"]:
        for expected in case["alert_rule_test"]:
            (fires if expected["exp_alerts"] else quiet).add(expected["alertname"])
    names = {rule["alert"] for rule in alerts(name)}
    assert (fires, quiet) == (names, names)


@pytest.mark.parametrize("name", FILES)
def test_every_alert_says_what_how_much_and_where_to_read_on(name: str) -> None:
    headings = {
        line.removeprefix("## ").lower() for line in RUNBOOKS.read_text().splitlines() if line.startswith("## ")
    }
    for rule in alerts(name):
        annotations = rule["annotations"]
        assert set(annotations) == {"summary", "description", "runbook"}
        page, _, heading = annotations["runbook"].partition("#")
        assert (ROOT / page) == RUNBOOKS
        assert heading in headings
        assert rule["labels"]["severity"] in {"warning", "critical"}


def test_the_alerts_read_metrics_that_the_adapter_has() -> None:
    used = {name for rule in alerts("adapter") for name in re.findall(r"\b(?:scaleproof|aggregator)_\w+", rule["expr"])}
    assert used - set(BY_NAME) == {"aggregator_unavailable_apiservice"}  # the API server's own


def test_the_workload_alerts_read_metrics_that_the_presets_know() -> None:
    library = load_presets()
    presets = [library.input(name) for name in library.names()[0]]
    known = {name for preset in presets if preset for series in preset.series.values() for name in series.metrics}
    rules = [rule for group in rule_groups("workload")["groups"] for rule in group["rules"]]
    text = " ".join(rule["expr"] for rule in rules)
    used = set(re.findall(r"\b(?:DCGM_\w+|vllm:\w+|nv_\w+|container_\w+_bytes)", text))
    assert len(used) == 12
    assert used - known == set()
