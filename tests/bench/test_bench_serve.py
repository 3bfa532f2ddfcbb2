"""`scaleproof bench serve` as somebody runs it; what it measures is not judged here, a busy machine would decide."""

import json
import subprocess

import pytest
from adapter_process import SCALEPROOF

pytestmark = pytest.mark.slow


def test_bench_serve_tells_rate_cpu_time_and_memory_with_the_floor_of_the_same_run() -> None:
    command = [SCALEPROOF, "bench", "serve", "--output", "json", "--seconds", "0.3"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    lines = [found, found["floor"], *(found[f"signals_{n}_c{c}"] for n in (1, 100) for c in (1, 16, 64))]
    for line in lines:
        assert {"per_second", "cpu_seconds_per_1000", "rss_mib"} <= set(line)
        assert line["per_second"] > 0
    print(ended.stdout)


def test_an_unknown_bench_is_bad_usage() -> None:
    ended = subprocess.run([SCALEPROOF, "bench", "nosuch"], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2
    assert "serve" in ended.stderr
