"""A real Prometheus, recorded and read back: each tick has what Prometheus answers to the policy's own questions."""

import math
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from inference_exporter import InferenceExporter
from policy_world import LIBRARY
from prometheus_process import PrometheusProcess
from typer.testing import CliRunner

from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import read_policies
from adapter.core.problems import has_errors
from adapter.core.samples import Answer
from adapter.core.ticks import Tick, read_tick
from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource
from adapter.record_command import app
from sim.replay.recorded_answers import recorded_answers
from sim.traces.opening import open_trace
from sim.traces.recording import Recording

pytestmark = pytest.mark.slow

POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: llama, namespace: inference}
spec:
  scrape_interval: 1s
  every: 1s
  memory: 10s
  replicas: {preset: kube/deployment-replicas, match: {deployment: llama}}
  inputs:
    waiting: {preset: vllm/requests-waiting, match: {model_name: llama}, max_age: 5s}
    kv: {preset: vllm/kv-cache-usage, match: {model_name: llama}, max_age: 5s}
    gpu: {preset: dcgm/engine-active, match: {pod: "~llama-.*"}, max_age: 5s}
    load: {query: sum(vllm:num_requests_running), unit: count, freshness: vllm:num_requests_running, max_age: 5s}
  terms:
    load: {concurrency: load, per_replica: 4}
    queue: {concurrency: waiting, per_replica: 10}
    cache: {headroom: kv, keep_free: 35%}
    compute: {utilization: gpu, target: 70%}
  publish: {metric: llama-replicas, as: replicas}
"""


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[PrometheusProcess]:
    exporter = InferenceExporter("inference", "llama", "llama")
    exporter.set_pods("llama-5d4-a", "llama-5d4-b")
    exporter.set_load(20)
    process = PrometheusProcess(tmp_path, exporter.jobs())
    try:
        for in_flight in (40, 7, 90):
            time.sleep(5)
            exporter.set_load(in_flight)
        yield process
    finally:
        process.close()
        exporter.close()


def settled(answer: Answer) -> list[tuple[object, list[tuple[float, str]]]]:
    """An answer without the order of its series, its values as text, since NaN is not itself."""
    assert answer.failure is None
    return sorted((one.labels, [(sample.time, repr(sample.value)) for sample in one.samples]) for one in answer.series)


def test_what_is_read_back_is_what_prometheus_answers_tick_by_tick(
    prometheus: PrometheusProcess, tmp_path: Path
) -> None:
    (loaded,), problems = read_policies(POLICY, "policy.yaml", LIBRARY)
    assert not has_errors(problems)
    plan = loaded.plan
    (tmp_path / "policy.yaml").write_text(POLICY)
    end = math.floor(time.time())
    ended = CliRunner().invoke(
        app,
        [
            "--policy", str(tmp_path / "policy.yaml"), "--prometheus", prometheus.url,
            "--to", str(tmp_path / "out.jsonl.gz"), "--start", str(end - 12), "--end", str(end),
            "--chunk", "5s", "--queries-per-second", "200",
        ],
    )  # fmt: skip
    assert ended.exit_code == 0, ended.output
    recording = open_trace(tmp_path / "out.jsonl.gz")
    assert isinstance(recording, Recording)
    recorded: list[Tick] = []
    live: list[Tick] = []
    raw_samples = 0
    with closing(PrometheusSource(prometheus.url)) as source:
        for t, answers in recorded_answers(recording, plan):
            told = {
                query: source.instant(plan.asked(query, is_raw), t - plan.offset, Deadline(10))
                for query, is_raw in plan.queries
            }
            for query, _ in plan.queries:
                assert settled(answers[query]) == settled(told[query]), (t, query)
                raw_samples += sum(len(series.samples) for series in told[query].series)
            recorded.append(read_tick(plan, t, answers))
            live.append(read_tick(plan, t, told))
    assert len(recorded) == 13
    assert raw_samples > 13 * 10
    served = evaluate(plan, loaded.rules, recorded)
    assert served == evaluate(plan, loaded.rules, live)
