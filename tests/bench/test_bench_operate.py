"""`scaleproof bench operate` measures the running adapter; a busy machine is not judged, what must hold anywhere is."""

import json
import subprocess

import pytest
from adapter_process import SCALEPROOF


@pytest.mark.slow
def test_it_tells_ticks_start_idling_reload_and_that_a_fleet_asks_no_more_queries_than_one_signal() -> None:
    command = [SCALEPROOF, "bench", "operate", "--seconds", "0.1", "--output", "json"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=290)
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    print(ended.stdout)
    for line in (figures, *(figures[key] for key in ("start", "idle", "reload", "fleet_1", "fleet_10000", "floor"))):
        assert line["per_second"] > 0
        assert line["cpu_seconds_per_1000"] > 0
    assert figures["start"]["first_value_seconds"] <= figures["start"]["all_values_seconds"]
    # One query each, and now and then one for a tick that a busy machine was late for.
    assert all(1 <= figures[f"fleet_{signals}"]["queries_per_evaluation"] < 2 for signals in (1, 1000, 10_000))
    assert figures["fleet_10000"]["rss_mib"] > figures["fleet_1"]["rss_mib"]
