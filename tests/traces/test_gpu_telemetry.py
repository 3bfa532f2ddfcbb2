"""The bundled GPU telemetry: what its seed makes, and the marks that it is there for."""

import gzip
from statistics import median

from sim.traces.gpu_telemetry import TRACE_FILE, generate
from sim.traces.opening import open_trace
from sim.traces.options import TraceOptions


def test_the_shipped_file_is_what_the_generator_makes_of_its_seed_and_is_small() -> None:
    assert gzip.decompress(TRACE_FILE.read_bytes()).decode() == generate()
    assert generate(1) != generate(2)
    assert TRACE_FILE.stat().st_size < 300 * 1024


def test_it_is_idle_most_often_while_memory_is_held_and_its_latency_is_of_two_kinds() -> None:
    samples = list(open_trace(TRACE_FILE, TraceOptions(labels=("pod",))).samples())
    duty = {(one.time, one.labels): one.value for one in samples if one.input == "gpu_duty_cycle_percent"}
    used = {(one.time, one.labels): one.value for one in samples if one.input == "vram_used_bytes"}
    idle = [key for key, value in duty.items() if value == 0]
    assert 0.6 < len(idle) / len(duty) < 0.72
    assert 20e9 < median(used[key] for key in idle) < 30e9
    latency = sorted(one.value for one in samples if one.input == "latency_seconds")
    # Warm requests take about 6 s and cold ones about 48 s; next to none lies between.
    between = [value for value in latency if 14 < value < 24]
    assert len(between) < len(latency) / 100
    assert 0.08 < sum(value > 24 for value in latency) / len(latency) < 0.16
