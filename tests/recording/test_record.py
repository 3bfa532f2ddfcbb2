"""`scaleproof record`: what is asked and kept, going on after a stop, and reading back what was written."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_prometheus import Exchange, FakePrometheus, failing, fake_prometheus
from policy_world import HEAD, policy
from stored_prometheus import labels, storing
from typer.testing import CliRunner, Result

from adapter.record_command import app
from sim.replay.parameters import Parameters
from sim.replay.recorded_answers import recorded_answers
from sim.replay.runner import replay
from sim.replay.subject import load_subject
from sim.traces.opening import open_trace
from sim.traces.recording import Recording
from sim.traces.trace import TraceError

SPEC = """\
  scrape_interval: 10s
  every: 15s
  offset: 5s
  inputs:
    waiting: {query: waiting, unit: count, per: [pod], max_age: 30s}
    pods: {query: count(waiting), unit: count, freshness: waiting, max_age: 30s}
  terms:
    queue: {concurrency: waiting, per_replica: 10}
    floor: {concurrency: pods, per_replica: 100}
  publish: {metric: p-total, as: replicas}
"""
START = 1_700_000_010
# Pod a counts up by 1 every 10 s from 100 s before the first tick on, pod b is there for a minute and holds 0.25.
STORED = {
    labels("waiting", pod="a"): {START - 100 + 10.0 * index: float(index) for index in range(60)},
    labels("waiting", pod="b"): {START + 3.5 + 10 * index: 0.25 for index in range(6)},
}


@pytest.fixture
def server() -> Iterator[FakePrometheus]:
    with fake_prometheus(storing(STORED)) as running:
        yield running


def run(server: FakePrometheus, folder: Path, *more: str, to: str = "out.jsonl.gz", spec: str = SPEC) -> Result:
    (folder / "policy.yaml").write_text(HEAD + spec)
    common = ["--policy", str(folder / "policy.yaml"), "--prometheus", server.url, "--to", str(folder / to)]
    span = ["--start", str(START), "--end", str(START + 300), "--queries-per-second", "1000"]
    return CliRunner().invoke(app, [*common, *span, *more])


def test_each_tick_reads_back_what_its_range_would_have_seen(server: FakePrometheus, tmp_path: Path) -> None:
    ended = run(server, tmp_path, "--chunk", "1m")
    assert ended.exit_code == 0, ended.output
    recording = open_trace(tmp_path / "out.jsonl.gz")
    assert isinstance(recording, Recording)
    loaded = policy(SPEC)
    found = dict(recorded_answers(recording, loaded.plan))
    # 300 s at every 15 s are 21 ticks.
    assert list(found) == [START + 15.0 * index for index in range(21)]
    # At START + 60 the instant is START + 55, and the look-back 60 s: twice the 30 s that a sample may be old.
    assert loaded.plan.lookback == 60.0
    a, b = sorted(found[START + 60.0]["waiting"].series, key=lambda series: series.label("pod"))
    # Samples lie at …-10, 0, 10, …, 50: those from START - 5 to START + 55 are 0 to 50, the tenth (START) is 10.
    assert [(one.time - START, one.value) for one in a.samples] == [(10.0 * i, 10.0 + i) for i in range(6)]
    assert [(one.time - START, one.value) for one in b.samples] == [(3.5 + 10 * i, 0.25) for i in range(6)]
    # Pod a is scraped every 10 s throughout, so that no two samples are further apart; b's own times are no holes.
    assert recording.header.holes == ()
    (derived,) = found[START + 60.0]["count(waiting)"].series
    assert [(one.time, one.value) for one in derived.samples] == [(START + 55.0, 2.0)]


def test_the_same_answers_are_the_same_bytes_and_chunks_do_not_change_what_is_read(
    server: FakePrometheus, tmp_path: Path
) -> None:
    for name in ("one.jsonl.gz", "two.jsonl.gz"):
        assert run(server, tmp_path, "--chunk", "1m", to=name).exit_code == 0
    assert (tmp_path / "one.jsonl.gz").read_bytes() == (tmp_path / "two.jsonl.gz").read_bytes()
    assert run(server, tmp_path, "--chunk", "1h", to="whole.jsonl.gz").exit_code == 0
    pieces, whole = (list(open_trace(tmp_path / name).samples()) for name in ("one.jsonl.gz", "whole.jsonl.gz"))
    assert sorted(pieces) == sorted(whole)
    server.default = storing(STORED, left_open=True)  # as Prometheus 3 reads a range
    assert run(server, tmp_path, "--chunk", "1m", to="open.jsonl.gz").exit_code == 0
    assert (tmp_path / "open.jsonl.gz").read_bytes() == (tmp_path / "one.jsonl.gz").read_bytes()


def test_a_recording_that_was_stopped_goes_on_behind_its_last_chunk(server: FakePrometheus, tmp_path: Path) -> None:
    assert run(server, tmp_path, "--chunk", "1m", to="whole.jsonl.gz").exit_code == 0
    answer, asked = storing(STORED), server.seen.total()

    def breaking(exchange: Exchange) -> None:
        (failing(400) if server.seen.total() > asked + 6 else answer)(exchange)

    server.default = breaking
    stopped = run(server, tmp_path, "--chunk", "1m")
    assert stopped.exit_code == 3
    assert "answered 400; run the same command again to go on" in stopped.output
    part = tmp_path / "out.jsonl.gz.part"
    assert part.read_text().count('{"end":') == 2
    with part.open("a") as file:
        file.write('{"q":0,"l":{},"t":[18')  # killed while it wrote
    server.default, asked = answer, server.seen.total()
    assert run(server, tmp_path, "--chunk", "1m").exit_code == 0
    # 21 ticks are six chunks (5 × 4 + 1), of which two are there: four are asked for, two queries each.
    assert server.seen.total() - asked == 4 * 2
    assert (tmp_path / "out.jsonl.gz").read_bytes() == (tmp_path / "whole.jsonl.gz").read_bytes()
    assert not part.exists()


def test_a_part_of_another_recording_is_never_gone_on_with(server: FakePrometheus, tmp_path: Path) -> None:
    answer = server.default
    server.default = failing(400)
    assert run(server, tmp_path, "--chunk", "1m").exit_code == 3
    server.default = answer
    (tmp_path / "out.jsonl.gz.part").unlink(missing_ok=True)
    server.behaviours["count"] = failing(400)
    assert run(server, tmp_path, "--chunk", "1m").exit_code == 3
    ended = run(server, tmp_path, "--chunk", "1m", spec=SPEC.replace("per_replica: 10}", "per_replica: 20}"))
    assert ended.exit_code == 2
    assert "was begun with another policy, span, chunk or channels; remove it to begin anew" in ended.output


def test_what_was_served_and_what_the_hpa_wanted_are_channels(server: FakePrometheus, tmp_path: Path) -> None:
    # Scraped every 10 s, ticks every 15 s: the tick at START is seen twice, that at START + 30 has no value.
    ticks = {START + 4.0: START, START + 14.0: START, START + 24.0: START + 15.0, START + 34.0: START + 30.0}
    value = {START + 4.0: 2.5, START + 14.0: 2.5, START + 24.0: 3.0}
    missing = {START + 34.0: 1.0}
    for name, samples, more in (
        ("scaleproof_signal_tick_seconds", ticks, {}),
        ("scaleproof_signal_value", value, {}),
        ("scaleproof_signal_missing", missing, {"reason": "stale"}),
    ):
        whole = {labels(name, policy="p", instance="a", **more): samples}
        server.behaviours[name] = storing(whole, digits=15)
    wanted = {START + 21.0: 3.0}
    name = "kube_horizontalpodautoscaler_status_desired_replicas"
    server.behaviours[name] = storing({labels(name, horizontalpodautoscaler="h"): wanted})
    assert run(server, tmp_path, "--served", "--hpa", "h").exit_code == 0
    recording = open_trace(tmp_path / "out.jsonl.gz")
    assert isinstance(recording, Recording)
    (line,) = recording.channel("served")
    assert (line.times, line.values) == ((START, START + 15.0, START + 30.0), ("2500m", "3", "stale"))
    assert line.labels == (("instance", "a"), ("policy", "p"))
    (line,) = recording.channel("hpa")
    assert (line.times, line.values) == ((START + 21.0,), (3.0,))


def test_a_recording_is_replayed_by_the_policys_own_queries(server: FakePrometheus, tmp_path: Path) -> None:
    assert run(server, tmp_path).exit_code == 0
    subject = load_subject(tmp_path / "policy.yaml", tmp_path / "out.jsonl.gz", None, "1.36")
    steps = list(replay(subject.policies, subject.trace, subject.hpa, Parameters()))
    # The first sync is at the first tick, whose instant is the trace's zero: START - 5.
    assert steps[0].t == 5.0
    # At START + 60: pod a has 15 at START + 50, pod b 0.25; 15.25 ÷ 10 are 1.525 replicas.
    (metric,) = next(step for step in steps if step.t == 65.0).metrics
    assert metric.text == "1525m"


def test_a_changed_recording_is_refused(server: FakePrometheus, tmp_path: Path) -> None:
    assert run(server, tmp_path).exit_code == 0
    path = tmp_path / "out.jsonl.gz"
    header, *lines = gzip.decompress(path.read_bytes()).decode().splitlines(keepends=True)
    assert json.loads(header)["queries"][0] == {"query": "waiting", "is_raw": True, "role": None}
    changed = header + "".join(lines).replace("0.25", "0.75", 1)
    path.write_bytes(gzip.compress(changed.encode()))
    with pytest.raises(TraceError, match="the checksum is not the one in its header; it was changed or cut off"):
        open_trace(path)
    path.write_bytes(gzip.compress((header + "".join(lines[:-1])).encode()))
    with pytest.raises(TraceError, match=r"lines, the header says"):
        open_trace(path)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["--last", "1h"], "say how far back: give --last, e.g. 24h, or --start"),
        (["--end", "2026-03-01T08:00"], '"2026-03-01T08:00" has no zone; write e.g. 2026-03-01T08:00Z'),
        (["--end", str(START - 10)], "between start and end there is no tick"),
        (["--name", "q"], "has p; say with --name which policy is meant"),
    ],
)
def test_what_cannot_be_recorded_is_refused(
    server: FakePrometheus, tmp_path: Path, more: list[str], words: str
) -> None:
    ended = run(server, tmp_path, *more)
    assert ended.exit_code == 2
    assert words in ended.output
