"""Freshly drawn scenarios through the real controller and the model; the seed is printed and can be given again.

`SCALEPROOF_SEED=N pytest -s tests/hpa/test_drawn.py` draws the same; `build/oracle draw -seed N -first I -count 1` is
the one scenario `…-N-I`.
"""

import json
import os
import secrets
from collections import Counter
from pathlib import Path

import pytest
from oracle_process import draw, run

from sim.hpa.conformance import Report, compare_vector
from sim.hpa.versions import find_version

SCENARIOS = 2_000
PROCESSES = 2
TAGS = (
    *("averageValue", "value", "severalMetrics", "severalItems", "selector", "behavior", "tolerance", "failures"),
    *("unready", "override", "latency", "statusLag", "scaleToZero", "negative", "overflow", "toleranceGateOff"),
    *("floats", "object", "pods", "hpaEdit", "scaleErrors"),
)

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
def test_no_field_of_two_thousand_fresh_scenarios_differs():
    seed = int(os.environ.get("SCALEPROOF_SEED") or secrets.randbelow(2**32))
    print(f"\nseed {seed}")
    share = SCENARIOS // PROCESSES
    processes = [draw(seed, part * share, share) for part in range(PROCESSES)]
    report, tags, version = Report(), Counter(), find_version("1.36")
    for process in processes:
        for line in process.stdout:
            vector = json.loads(line)
            tags.update(vector["scenario"]["tags"])
            compare_vector(vector, version, report, file=f"seed {seed}")
        process.stdout.close()
        assert process.wait(timeout=60) == 0
    print(f"scenarios {report.scenarios} steps {report.steps} mismatches {report.mismatches}")
    print(", ".join(f"{tag} {tags[tag]}" for tag in TAGS))
    assert report.scenarios == SCENARIOS
    assert not report.unmodelled
    assert report.differences[:3] == [], f"seed {seed}"
    assert all(tags[tag] >= 20 for tag in TAGS), tags


def test_a_seed_draws_the_same_again_and_one_scenario_alone():
    def text(first: int, count: int) -> list[str]:
        process = draw(7, first, count)
        lines = process.stdout.read().splitlines()
        process.stdout.close()
        assert process.wait(timeout=60) == 0
        return lines

    assert text(0, 6) == text(0, 6)
    assert text(0, 6)[4] == text(4, 1)[0]


def test_what_was_drawn_is_what_a_replay_gives():
    process = draw(7, 0, 5)
    drawn = [json.loads(line) for line in process.stdout]
    process.stdout.close()
    process.wait(timeout=60)
    assert run(vector["scenario"] for vector in drawn) == drawn


def test_the_oracle_still_decides_what_was_worked_out_by_hand():
    lines = (Path(__file__).parent / "vectors" / "named.jsonl").read_text().splitlines()
    recorded = [json.loads(line) for line in lines]
    again = run(vector["scenario"] for vector in recorded)
    assert [vector["result"] for vector in again] == [vector["result"] for vector in recorded]
    for vector in again:
        for step, replicas in vector["scenario"]["expect"].items():
            assert vector["result"]["steps"][int(step)]["specReplicas"] == replicas
