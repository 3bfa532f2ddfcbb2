"""`scaleproof bench evaluate` measures whole ticks and writes what a table of figures needs."""

import json
import subprocess

import pytest
from adapter_process import SCALEPROOF


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
    # Whole ticks cost more than fetching and decoding their answers.
    assert figures["per_second"] < figures["floor"]["per_second"]
