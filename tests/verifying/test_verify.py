"""`scaleproof verify` on recordings written by hand: one replica per 10 that wait, ticks and scrapes each second.

Waiting are 10, from second 20 on 30, at seconds 40 to 44 nothing is sampled, then 30 again. So 1, 3, a refusal and 3
were served, and the HPA went from 1 to 3 once.
"""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result
from written_recordings import POLICY, START, write_recording

from sim.verifying.command import app

WAITING = {second: 10.0 if second < 20 else 30.0 for second in range(60) if not 40 <= second <= 44}
# max_age is 1 s, and twice as long is looked back. At second 40 the sample of 39 is still fresh, at 41 it is stale, and
# from 42 on it is out of sight.
SERVED = {second: "1" if second < 20 else "3" for second in range(60)} | {
    41: "stale",
    42: "empty",
    43: "empty",
    44: "empty",
}
WANTED = {second: 1 if second < 22 else 3 for second in range(60)}


def verify(folder: Path, *more: str) -> Result:
    arguments = [str(folder / "period.jsonl.gz"), "--policy", str(folder / "policy.yaml"), "--sync", "2s", *more]
    return CliRunner().invoke(app, arguments)


def with_hpa(folder: Path, *more: str) -> Result:
    return verify(folder, "--hpa", str(folder / "hpa.yaml"), *more)


def test_a_period_that_was_served_as_it_is_computed_is_equal(tmp_path: Path) -> None:
    write_recording(tmp_path, WAITING, SERVED, WANTED)
    ended = with_hpa(tmp_path)
    assert ended.exit_code == 0, ended.output
    assert "values: 60 of 60 ticks equal; 4 were refusals; 0 more no scrape saw" in ended.output
    assert "decisions: 1 change of the replicas that the HPA wanted" in ended.output
    assert ended.output.endswith("equal\n")


def test_one_value_that_differs_is_told_with_both_accounts_and_the_input_that_explains_it(tmp_path: Path) -> None:
    write_recording(tmp_path, WAITING, {**SERVED, 20: "1"}, WANTED)
    ended = with_hpa(tmp_path)
    assert ended.exit_code == 1, ended.output
    assert "values: 59 of 60 ticks equal" in ended.output
    assert "first difference at 2027-01-15T08:00:20.000Z (1800000020):" in ended.output
    served, replayed = ended.output.split("  served    1 by adapter-1\n")[1].split("  replayed  3\n")
    assert "input waiting: 10 count of 1 series" in served
    assert "input waiting: 30 count of 1 series" in replayed
    # The adapter asked before the sample of second 20 was there, and saw the 10 of second 19.
    assert "cause     input waiting: with the answers of the tick before, the served one comes out" in ended.output


def test_one_refusal_that_differs_is_a_difference_in_either_direction(tmp_path: Path) -> None:
    write_recording(tmp_path, WAITING, {**SERVED, 43: "3"}, WANTED)
    ended = with_hpa(tmp_path)
    assert ended.exit_code == 1
    # Neither the answers of the tick before, which are stale as well, nor none at all give 3.
    assert "  served    3 by adapter-1\n  replayed  empty\n" in ended.output
    assert "cause     no input explains it: the policy, the version or an earlier tick was another" in ended.output
    write_recording(tmp_path, WAITING, {**SERVED, 50: "upstream-timeout"}, WANTED)
    ended = with_hpa(tmp_path)
    assert ended.exit_code == 1
    assert "  served    upstream-timeout by adapter-1\n  replayed  3\n" in ended.output
    assert "cause     Prometheus did not answer the adapter, or not in time; a recording shows" in ended.output


@pytest.mark.parametrize(
    ("wanted", "recorded", "replayed"),
    [
        ({s: 1 if s < 22 else 4 for s in range(60)}, "recorded  1 → 4 between", "replayed  1 → 3 at 2027"),
        (dict.fromkeys(range(60), 1), "recorded  no further change", "replayed  1 → 3 at 2027"),
        # 2 s of sync and the second of the scrape: 6 s late is late.
        ({s: 1 if s < 26 else 3 for s in range(60)}, "recorded  1 → 3 between", "replayed  1 → 3 at 2027"),
        (
            {s: 1 if s < 22 or s > 50 else 3 for s in range(60)},
            "recorded  3 → 1 between",
            "replayed  no further change",
        ),
    ],
)
def test_a_decision_that_differs_is_told_with_the_models_account(
    tmp_path: Path, wanted: dict[int, int], recorded: str, replayed: str
) -> None:
    write_recording(tmp_path, WAITING, SERVED, wanted)
    ended = with_hpa(tmp_path)
    assert ended.exit_code == 1, ended.output
    assert recorded in ended.output
    assert replayed in ended.output
    assert "the tick gives 3" in ended.output
    assert "final 3" in ended.output


def test_what_the_recording_lacks_is_inconclusive_and_a_difference_beside_it_counts(tmp_path: Path) -> None:
    write_recording(tmp_path, WAITING, {}, WANTED)
    ended = with_hpa(tmp_path)
    assert ended.exit_code == 3
    assert "missing: what was served: record with --served" in ended.output
    write_recording(tmp_path, WAITING, SERVED, {})
    ended = with_hpa(tmp_path)
    assert ended.exit_code == 3
    assert "missing: what the HPA did: record with --hpa NAME" in ended.output
    assert verify(tmp_path).exit_code == 0
    write_recording(tmp_path, WAITING, {**SERVED, 20: "1"}, {})
    assert with_hpa(tmp_path).exit_code == 1


def test_ticks_whose_memory_was_not_recorded_are_not_compared(tmp_path: Path) -> None:
    # With 5 s of memory at every 1 s the first tick that has all of it is the fifth, at second 4.
    write_recording(tmp_path, WAITING, {**SERVED, 3: "9"}, WANTED, POLICY.replace("memory: 1s", "memory: 5s"))
    ended = with_hpa(tmp_path)
    assert "note: the first 4 ticks are not compared: their memory reaches back before the recording" in ended.output
    assert "values: 56 of 56 ticks equal" in ended.output
    assert ended.exit_code == 0


def test_a_policy_that_was_changed_since_is_told(tmp_path: Path) -> None:
    write_recording(tmp_path, WAITING, SERVED, WANTED)
    (tmp_path / "policy.yaml").write_text(POLICY.replace("per_replica: 10", "per_replica: 5"))
    ended = verify(tmp_path)
    assert ended.exit_code == 1
    assert "note: the policy was changed since it was recorded" in ended.output


def test_json_has_the_same_facts(tmp_path: Path) -> None:
    write_recording(tmp_path, WAITING, {**SERVED, 20: "1"}, WANTED)
    data = json.loads(with_hpa(tmp_path, "--output", "json").output)
    assert (data["verdict"], data["policy"], data["missing"]) == ("different", "prod/p", [])
    assert data["values"]["compared"] == 60
    first = data["values"]["first"]
    assert (first["t"], first["served"], first["replayed"]) == (START + 20.0, "1", "3")
    assert data["decisions"]["first"] is None


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("name: p,", "name: q,", "the recording is of prod/p, the policy is prod/q"),
        ("query: waiting", "query: queued", "queued was not recorded"),
        ("offset: 0s", "offset: 1s", "every or offset of the policy is another"),
    ],
)
def test_a_recording_of_another_policy_is_refused(tmp_path: Path, before: str, after: str, words: str) -> None:
    write_recording(tmp_path, WAITING, SERVED, WANTED)
    (tmp_path / "policy.yaml").write_text(POLICY.replace(before, after))
    ended = verify(tmp_path)
    assert ended.exit_code == 2, ended.output
    assert words in ended.output


def test_a_trace_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    write_recording(tmp_path, WAITING, SERVED, WANTED)
    (tmp_path / "rows.csv").write_text("t_s,waiting\n0,1\n1,2\n")
    ended = CliRunner().invoke(app, [str(tmp_path / "rows.csv"), "--policy", str(tmp_path / "policy.yaml")])
    assert ended.exit_code == 2
    assert "is no recording; make one with `scaleproof record --served`" in ended.output
