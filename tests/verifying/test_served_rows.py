"""What `scaleproof serve` answers while a trace happens is what `replay` says of the same trace.

90 rows, one a second, are shown to the adapter by a Prometheus that has each sample from its own second on. In them the
queue and what runs move, are blank for long enough to be stale and to be gone, and come back.
"""

import csv
import json
import math
import os
import subprocess
import threading
import time
from pathlib import Path

import pytest
from adapter_process import SCALEPROOF, AdapterProcess, FrontProxy
from child_process import eventually
from fake_prometheus import fake_prometheus
from stored_prometheus import labels, storing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

ROWS = 90
OFFSET = 2
POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: rows, namespace: prod}
spec:
  every: 1s
  offset: 2s
  scrape_interval: 1s
  memory: 5s
  inputs:
    waiting: {query: waiting, unit: count, max_age: 3s}
    running: {query: running, unit: count, max_age: 3s}
  terms:
    queue: {concurrency: waiting, per_replica: 10}
    batch: {concurrency: running, per_replica: 7}
  publish: {metric: rows-replicas, as: replicas}
"""
ELSEWHERE = {"PYTHONHASHSEED": "4242", "TZ": "Asia/Kathmandu", "LC_ALL": "de_DE.UTF-8"}
WITHOUT_NETWORK = ("unshare", "--map-root-user", "--net")


def row(second: int) -> tuple[float | None, float | None]:
    """Both are blank from second 40 to 51; the queue also from 70 to 72, for less than it may be old."""
    waiting = None if 40 <= second <= 51 or 70 <= second <= 72 else 3.5 * (second % 17) + second
    running = None if 40 <= second <= 51 else (second * 37) % 50 + 0.125
    return waiting, running


def write_trace(path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t_s", "waiting", "running"])
        writer.writerows([second, *("" if value is None else value for value in row(second))] for second in range(ROWS))


def replayed(policy: Path, trace: Path, *before: str, environment: dict[str, str] | None = None) -> bytes:
    command = [*before, str(SCALEPROOF), "replay", f"--policy={policy}", f"--trace={trace}", "--sync=1s"]
    ended = subprocess.run(
        [*command, "--output=jsonl"], env={**os.environ, **(environment or {})}, capture_output=True, timeout=60
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


class Reader:
    """Reads the metric several times a second and keeps the value, or None for 503, of each tick."""

    def __init__(self, adapter: AdapterProcess) -> None:
        self._adapter, self._end = adapter, threading.Event()
        self.seen: dict[int, str | None] = {}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(0.3):
            response = self._adapter.metric("prod", "rows-replicas")
            if response.status_code == 200:
                (item,) = response.json()["items"]
                self.seen[int(response.headers["X-Scaleproof-Tick"])] = item["value"]
            elif response.status_code == 503 and "X-Scaleproof-Tick" in response.headers:
                self.seen[int(response.headers["X-Scaleproof-Tick"])] = None

    def close(self) -> None:
        self._end.set()
        self._thread.join(15)


def test_ninety_rows_are_served_as_they_are_replayed_wherever_it_runs(tmp_path: Path) -> None:
    (policies := tmp_path / "policies").mkdir()
    (policies / "rows.yaml").write_text(POLICY)
    write_trace(tmp_path / "rows.csv")
    start = math.ceil(time.time()) + 8  # both adapters are up by then, or the first ticks are missed and it fails
    stored = {
        labels(name): {
            float(start + second): value for second in range(ROWS) if (value := row(second)[place]) is not None
        }
        for place, name in enumerate(("waiting", "running"))
    }
    front = FrontProxy(tmp_path)
    adapters, readers = [], []
    with fake_prometheus(storing(stored, digits=15)) as prometheus:
        try:
            for name, environment in (("here", {}), ("elsewhere", ELSEWHERE)):
                adapter = AdapterProcess(
                    tmp_path, policies, prometheus.url, front.serving, front.serving_authority.certificate_file,
                    client=front.certificate, flags=front.flags, name=name, environment=environment,
                )  # fmt: skip
                adapters.append(adapter)
            for adapter in adapters:
                adapter.wait_ready()
                readers.append(Reader(adapter))
            last = start + ROWS - 1 + OFFSET
            eventually(lambda: all(last in one.seen for one in readers), "the last row is served", ROWS + 40)
        finally:
            for reader in readers:
                reader.close()
            for adapter in adapters:
                adapter.close()

    policy, trace = policies / "rows.yaml", tmp_path / "rows.csv"
    output = replayed(policy, trace)
    assert replayed(policy, trace, *WITHOUT_NETWORK, environment=ELSEWHERE) == output
    steps = [json.loads(line) for line in output.decode().splitlines()]
    expected = {round(step["t"]): step["metrics"]["rows-replicas"] for step in steps}
    assert sorted(expected) == list(range(OFFSET, ROWS + OFFSET))
    # At tick 2 the row of second 0 is seen: 0 wait, 0.125 ÷ 7 = 0.018 replicas.
    assert expected[2] == "18m"
    # Blank from second 40 on: that of 39 is 3 s old at 42 (tick 44), and older from tick 45 until 54, which sees 52.
    assert [tick for tick, text in expected.items() if text is None] == list(range(45, 54))
    for reader in readers:
        assert {tick - start: text for tick, text in reader.seen.items() if 2 <= tick - start <= 91} == expected
