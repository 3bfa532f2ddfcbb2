"""`check --prometheus` against a real Prometheus that scrapes vLLM pods, their GPUs and their Deployment."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from adapter_process import SCALEPROOF
from inference_exporter import InferenceExporter
from prometheus_process import PrometheusProcess

pytestmark = pytest.mark.slow

StartPrometheus = Callable[[InferenceExporter], PrometheusProcess]
POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: llama, namespace: inference}
spec:
  replicas: {preset: kube/deployment-replicas, match: {deployment: llama}}
  inputs:
    flight: {preset: vllm/requests-in-flight, match: {model_name: llama-70b}}
    kv: {preset: vllm/kv-cache-usage, match: {model_name: llama-70b}}
    gpu: {preset: dcgm/engine-active, match: {pod: "~llama-.*"}}
  terms:
    batch: {concurrency: flight, per_replica: 10}
    cache: {headroom: kv, keep_free: 35%}
    busy: {utilization: gpu, target: 70%}
  publish: {metric: llama-replicas}
"""


@pytest.fixture
def prometheus(exporter: InferenceExporter, start_prometheus: StartPrometheus) -> PrometheusProcess:
    exporter.set_pods("llama-1", "llama-2", spec_replicas=2)
    exporter.set_load(34, batch_size=8)
    started = start_prometheus(exporter)
    started.wait_for("sum(vllm:num_requests_waiting)", 18)
    started.wait_for("count(DCGM_FI_PROF_GR_ENGINE_ACTIVE)", 2)
    started.wait_for("kube_deployment_spec_replicas", 2)
    return started


def checked(folder: Path, prometheus: PrometheusProcess, old: str = "", new: str = "") -> list[dict[str, Any]]:
    assert old in POLICY
    (folder / "p.yaml").write_text(POLICY.replace(old, new, 1) if old else POLICY)
    command = [SCALEPROOF, "check", "p.yaml", "--prometheus", prometheus.url, "--output", "json"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found: list[dict[str, Any]] = json.loads(ended.stdout)["problems"]
    return [one for one in found if one["code"].startswith("no-s") or one["code"].startswith("no-l")]


def test_what_prometheus_has_of_a_policy_and_what_it_has_not(tmp_path: Path, prometheus: PrometheusProcess) -> None:
    assert checked(tmp_path, prometheus) == []

    # A label value written otherwise: the nearest that there is.
    (problem,) = checked(
        tmp_path,
        prometheus,
        "requests-in-flight, match: {model_name: llama-70b}",
        "requests-waiting, match: {model_name: llama-70}",
    )
    assert (problem["code"], problem["line"]) == ("no-series", 7)
    assert 'model_name is never "llama-70"' in problem["message"]
    assert problem["fix"] == "model_name: did you mean llama-70b?"
    assert problem["page"] == "docs/lints/no-series.md"

    # A metric that nothing exports.
    (problem,) = checked(
        tmp_path, prometheus, "vllm/kv-cache-usage, match: {model_name: llama-70b}", "sglang/kv-cache-usage"
    )
    assert (problem["code"], problem["line"]) == ("no-series", 8)
    assert "the metric does not exist" in problem["message"]

    # A label that the series do not have.
    (problem,) = [
        one
        for one in checked(
            tmp_path,
            prometheus,
            '{preset: dcgm/engine-active, match: {pod: "~llama-.*"}}',
            "{query: vllm:kv_cache_usage_perc, unit: ratio, per: [replica]}",
        )
        if one["code"].startswith("no-")
    ]
    assert (problem["code"], problem["line"]) == ("no-label", 9)
    assert "have no label replica" in problem["message"]

    # A Deployment of another name.
    (problem,) = [
        one
        for one in checked(tmp_path, prometheus, "match: {deployment: llama}", "match: {deployment: lama}")
        if one["code"].startswith("no-")
    ]
    assert (problem["code"], problem["line"]) == ("no-series", 5)
    assert problem["fix"] == "deployment: did you mean llama?"
