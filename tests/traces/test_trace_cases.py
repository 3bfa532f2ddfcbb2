"""Cases T1 to T4: files that importers misread; expectations are read from each case's own file. T5 is in replay."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from sim.traces.opening import open_trace
from sim.traces.options import TimeUnit, TraceOptions
from sim.traces.request_log import RequestLog
from sim.traces.trace import TraceError

CASES = Path(__file__).parents[1] / "cases"


def expected(case: str) -> Any:
    return json.loads((CASES / case / "expect.json").read_text())["expected"]


def test_t1_arrivals_less_than_a_millisecond_apart_stay_apart_and_utc_is_said() -> None:
    want, log = expected("T1"), open_trace(CASES / "T1/trace.csv")
    assert isinstance(log, RequestLog)
    arrivals = list(log.arrivals())
    assert len(arrivals) == want["rows"]
    assert [one.time / 1e9 for one in arrivals] == pytest.approx(want["offsets_s"], abs=1e-6)
    assert any("taken as UTC" in note for note in log.header.notes)


def test_t2_a_unit_that_is_declared_gives_the_span_and_the_buckets() -> None:
    want = expected("T2")["ms"]
    log = open_trace(CASES / "T2/trace.jsonl", TraceOptions(time_unit=TimeUnit.MILLISECONDS, bucket=3.0))
    assert isinstance(log, RequestLog)
    assert [one.time / 1e9 for one in log.arrivals()][-1] == want["span_s"]
    rates = [sample.value for sample in log.samples() if sample.input == "requests_per_second"]
    assert [rate * 3 for rate in rates] == want["buckets_3s"]
    assert f"5 requests in {want['span_s']} s, counted by 3 s" in log.header.notes


def test_t2_a_unit_that_nobody_says_is_refused_with_the_line_and_the_flag() -> None:
    assert expected("T2")["undeclared"] == "error-or-stated"
    with pytest.raises(TraceError, match=r"trace\.jsonl:1: the time 0 has no unit; say it with --time-unit s, ms"):
        open_trace(CASES / "T2/trace.jsonl")


def test_t3_a_spreadsheet_with_decimal_commas_is_read_as_its_author_means_it() -> None:
    want, trace = expected("T3"), open_trace(CASES / "T3/export.csv")
    read = {name: [one.value for one in trace.samples() if one.input == name] for name in ("util", "queue")}
    assert read["util"] == want["util"]
    plain = [one["either"][0] if isinstance(one, dict) else one for one in want["queue"]]
    assert read["queue"] == plain
    assert "numbers have a decimal comma" in trace.header.notes


def test_t3_a_file_that_mixes_conventions_is_refused_with_its_line(tmp_path: Path) -> None:
    mixed = tmp_path / "mixed.csv"
    mixed.write_text((CASES / "T3/export.csv").read_text() + "2026-03-01T00:00:45Z;0.95;7\n")
    with pytest.raises(TraceError, match=r'mixed\.csv:6: util: "0\.95" stands in a file with decimal commas'):
        open_trace(mixed)


def test_t4_the_hour_that_occurs_twice_is_read_in_the_order_of_the_file() -> None:
    want = expected("T4")["declared"]
    trace = open_trace(CASES / "T4/trace.csv", TraceOptions(zone=ZoneInfo("Europe/Berlin")))
    samples = list(trace.samples())
    assert [one.value for one in samples] == want["values"]
    epoch = trace.header.epoch
    assert epoch is not None
    times = [datetime.fromtimestamp(epoch + one.time, UTC).strftime("%Y-%m-%dT%H:%MZ") for one in samples]
    assert times == want["utc"]


def test_t4_without_a_zone_the_row_that_goes_back_is_refused() -> None:
    assert expected("T4")["undeclared"] == "error-row-4"
    # The fourth row of data stands in line 5.
    with pytest.raises(
        TraceError, match=r"trace\.csv:5: the time goes back by 1800 s; .*declare its zone with --timez"
    ):
        open_trace(CASES / "T4/trace.csv")
