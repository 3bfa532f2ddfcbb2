"""`scaleproof bench evaluate` measures whole ticks and writes what a table of figures needs."""

import json
import subprocess

import pytest
from adapter_process import SCALEPROOF
from policy_world import LIBRARY

from adapter.benches.evaluate import POLICY, held_bytes_per_signal
from adapter.core.policy_reading import read_policies


@pytest.mark.slow
def test_it_measures_signals_policies_and_the_floor_in_one_run() -> None:
    ended = subprocess.run(
        [SCALEPROOF, "bench", "evaluate", "--seconds", "0.1", "--output", "json"],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    figures = json.loads(ended.stdout)
    assert figures["bench"] == "evaluate"
    for line in (figures, figures["floor"], figures["policies"]):
        assert line["per_second"] > 0
        assert line["cpu_seconds_per_1000"] > 0
    assert figures["rss_mib"] > 0
    assert figures["bytes_per_signal"] > 0
    # Whole ticks cost more than fetching and decoding their answers.
    assert figures["per_second"] < figures["floor"]["per_second"]


@pytest.mark.slow
def test_what_a_signal_holds_does_not_grow_once_its_memory_is_full() -> None:
    (loaded,), _ = read_policies(POLICY, "fleet.yaml", LIBRARY)
    full, later = held_bytes_per_signal(loaded)
    # 40 ticks of at least a reading each; after 40 more nothing is kept that was not before (5 % for the interpreter).
    assert full > 40 * 100
    assert later <= full * 1.05
