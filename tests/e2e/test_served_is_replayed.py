"""What a real cluster was served and did, recorded from its Prometheus, is what `scaleproof verify` computes.

Ticks every second, HPA syncs every 2 s. 10 requests in flight are one replica's: 34 are 4 replicas, 12 are 2, 45 are 5.
In between kube-state-metrics is down until the adapter refuses, so that refusals are compared as well.
"""

import json
import math
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import requests
from adapter_process import METRICS_PATH, SCALEPROOF
from child_process import eventually
from workloads import autoscaler

from sim.policy_files import load_policies
from sim.traces.recording import Recording
from sim.verifying.computing import computed

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]

StartStory = Callable[[str, int], Any]
NAMESPACE, METRIC = "e2e-verify", "llama-replicas"
MEMORY_SECONDS = 30


class Reader:
    """Reads the metric through the aggregator and keeps the value, or the reason for none, of each tick."""

    def __init__(self, story: Any) -> None:
        self._story, self._end = story, threading.Event()
        self.seen: dict[float, str] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(0.3):
            try:
                self._look()
            except requests.RequestException:
                continue  # a busy API server; the tick is read at the next turn, or not compared

    def _look(self) -> None:
        response = self._story.cluster.response(f"{METRICS_PATH}/{NAMESPACE}/{METRIC}")
        tick, body = response.headers.get("X-Scaleproof-Tick"), response.json()
        if tick is not None:
            is_value = response.status_code == 200
            text = body["items"][0]["value"] if is_value else body["details"]["causes"][0]["reason"]
            self.seen[float(tick)] = text

    def close(self) -> None:
        self._end.set()
        self._thread.join(15)


def scaleproof(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [str(argument) for argument in (SCALEPROOF, *arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def live_through_it(story: Any) -> tuple[int, int]:
    """Load, an outage of kube-state-metrics, and load again; the first and the last second to compare."""
    start = math.ceil(time.time())
    story.wait_for_ready(4)
    # The ticks before have a memory that reaches back before the recording.
    eventually(lambda: time.time() > start + MEMORY_SECONDS + 2, "the first memory is over", MEMORY_SECONDS + 5)
    story.exporter.set_load(12)
    story.wait_for_ready(2)
    story.exporter.set_kube_state(is_up=False)
    eventually(lambda: story.metric()[0] == 503, "without replicas there is no signal", 90)
    time.sleep(4)  # some refusals more, two syncs of the HPA among them
    story.exporter.set_kube_state(is_up=True)
    eventually(lambda: story.metric()[0] == 200, "with replicas there is a signal again", 60)
    story.exporter.set_load(45)
    story.wait_for_ready(5)
    time.sleep(4)
    return start, math.floor(time.time()) - 1


def test_a_real_period_is_replayed_as_it_was_served_and_decided(start_story: StartStory, tmp_path: Path) -> None:
    story = start_story(NAMESPACE, 34)
    reader = Reader(story)
    try:
        start, end = live_through_it(story)
    finally:
        reader.close()
    policy = tmp_path / "policies" / "in-flight.yaml"
    recording = tmp_path / "period.jsonl.gz"
    recorded = scaleproof(
        "record", "--policy", policy, "--prometheus", story.prometheus.url, "--to", recording, "--served", "--hpa",
        "llama", "--start", str(start), "--end", str(end), "--queries-per-second", "50",
    )  # fmt: skip
    assert recorded.returncode == 0, recorded.stderr

    hpa = tmp_path / "hpa.json"
    manifest = autoscaler("llama", METRIC)
    hpa.write_text(json.dumps({**manifest, "metadata": {**manifest["metadata"], "namespace": NAMESPACE}}))
    verified = scaleproof(
        "verify", recording, "--policy", policy, "--hpa", hpa, "--sync", "2s", "--output", "json"
    )  # fmt: skip
    assert verified.returncode == 0, verified.stdout + verified.stderr
    found = json.loads(verified.stdout)
    assert found["values"]["compared"] >= 30
    assert found["values"]["refusals"] >= 4
    assert found["decisions"]["changes"] == 2  # 4 → 2 and 2 → 5; the first, 1 → 4, is before the first whole memory

    (loaded,) = load_policies(policy)
    replayed = {one.t: one.text for one in computed(Recording(recording), loaded)}
    read = {tick: text for tick, text in reader.seen.items() if tick in replayed}
    assert len(read) >= 30
    assert read == {tick: replayed[tick] for tick in read}
