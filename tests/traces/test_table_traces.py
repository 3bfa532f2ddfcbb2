"""CSV, TSV, JSON Lines and Parquet as traces: what is read, and what is refused with its line."""

import gzip
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow
import pyarrow.parquet
import pytest

from sim.traces.opening import detect, open_trace
from sim.traces.options import Decimal, Duplicates, Format, TimeUnit, TraceOptions, parse_mapping
from sim.traces.trace import TraceError, TraceSample


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def samples(path: Path, options: TraceOptions | None = None) -> list[TraceSample]:
    return list(open_trace(path, options or TraceOptions()).samples())


def refusal(path: Path, options: TraceOptions | None = None) -> str:
    with pytest.raises(TraceError) as caught:
        samples(path, options)
    return str(caught.value).replace(f"{path.parent}/", "")


def mapped(*texts: str) -> TraceOptions:
    return TraceOptions(mapping=tuple(parse_mapping(text) for text in texts))


def test_a_mapping_names_inputs_scales_them_and_leaves_out_the_rest(tmp_path: Path) -> None:
    path = written(tmp_path, "time_ms,GPU %,host,queue\n0,50,a,3\n1500,75,b,4\n")
    assert samples(path, mapped("util=GPU %/100", "waiting{pod=x}=queue")) == [
        TraceSample(0.0, "util", 0.5),
        TraceSample(0.0, "waiting", 3.0, (("pod", "x"),)),
        TraceSample(1.5, "util", 0.75),
        TraceSample(1.5, "waiting", 4.0, (("pod", "x"),)),
    ]


def test_columns_that_tell_series_apart_become_labels_and_a_condition_picks_rows(tmp_path: Path) -> None:
    path = written(tmp_path, "t_s,pod,app,waiting\n0,a,x,1\n0,b,x,2\n0,c,y,9\n15,a,x,3\n")
    options = TraceOptions(labels=("pod",), where=(("app", "x"),))
    assert samples(path, options) == [
        TraceSample(0.0, "waiting", 1.0, (("pod", "a"),)),
        TraceSample(0.0, "waiting", 2.0, (("pod", "b"),)),
        TraceSample(15.0, "waiting", 3.0, (("pod", "a"),)),
    ]
    assert open_trace(path, options).header.has_pods


def test_tabs_part_columns_and_numbers_may_then_have_a_comma(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s\twaiting\n0\t1,5\n15\t\n30\tNA\n", "trace.tsv")
    trace = open_trace(path, TraceOptions(blanks=("NA",)))
    assert detect(path) is Format.TSV
    assert [one.value for one in trace.samples()] == [1.5]
    assert trace.header.blanks == {"waiting": 2}


def test_epoch_times_put_the_zero_at_the_first_row(tmp_path: Path) -> None:
    path = written(tmp_path, "timestamp_ms,waiting\n1800000000500,1\n1800000015500,2\n")
    trace = open_trace(path)
    assert trace.header.epoch == 1800000000.5
    assert [one.time for one in trace.samples()] == [0.0, 15.0]


def test_json_lines_have_null_for_a_blank_and_may_be_compressed(tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl.gz"
    path.write_bytes(
        gzip.compress(b'{"t_s": 0, "waiting": 3}\n{"t_s": 15, "waiting": null}\n{"t_s": 30, "waiting": 4}\n')
    )
    trace = open_trace(path)
    assert [(one.time, one.value) for one in trace.samples()] == [(0.0, 3.0), (30.0, 4.0)]
    assert trace.header.blanks == {"waiting": 1}


def test_parquet_is_read_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "trace.parquet"
    table = pyarrow.table({"t_s": [0, 15, 30], "waiting": [3.0, None, 4.0]})
    pyarrow.parquet.write_table(table, path)
    trace = open_trace(path)
    assert [(one.time, one.value) for one in trace.samples()] == [(0.0, 3.0), (30.0, 4.0)]
    assert trace.header.blanks == {"waiting": 1}


def test_rows_out_of_order_are_put_right_as_far_as_it_is_allowed(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s,waiting\n0,1\n30,3\n15,2\n45,4\n")
    assert refusal(path).startswith("trace.csv:4: the time goes back by 15 s; ")
    trace = open_trace(path, TraceOptions(reorder=15.0))
    assert [one.value for one in trace.samples()] == [1, 2, 3, 4]
    assert "1 rows were out of order and put right" in trace.header.notes
    assert "--reorder allows 10 s" in refusal(path, TraceOptions(reorder=10.0))


@pytest.mark.parametrize(("rule", "kept"), [(Duplicates.FIRST, 1.0), (Duplicates.LAST, 2.0)])
def test_of_two_values_for_one_time_the_declared_one_counts(tmp_path: Path, rule: Duplicates, kept: float) -> None:
    path = written(tmp_path, "time_s,waiting\n0,1\n0,2\n15,3\n")
    assert refusal(path).startswith("trace.csv:3: a second value of waiting for the time of the row above; ")
    trace = open_trace(path, TraceOptions(duplicates=rule))
    assert [one.value for one in trace.samples()] == [kept, 3.0]
    assert f"1 duplicate values, of which the {rule} counts" in trace.header.notes


def test_a_hole_is_told_on_the_clock_of_the_trace(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s,waiting\n100,1\n115,1\n130,1\n730,1\n")
    header = open_trace(path).header
    assert (header.start, header.end, header.step) == (100.0, 730.0, 15.0)
    assert [(hole.start, hole.end) for hole in header.holes] == [(130.0, 730.0)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,waiting\n0,1\n", "trace.csv:2: the time 0 has no unit; "),
        ("when,waiting\n0,1\n", "trace.csv:2: no column is called time, timestamp or t_s; name it with --time-column"),
        ("time_s,waiting\n0,NA\n", 'trace.csv:2: waiting: "NA" is no number; leave the cell empty for no value'),
        ("time_s,waiting\n0,1,2\n", "trace.csv:2: 3 cells, the header has 2; "),
        ("time_s,a b\n0,1\n", 'trace.csv:2: the column "a b" is no name of an input; map it with --map'),
        ("time_s,a,a\n0,1,1\n", 'trace.csv:1: the column "a" stands twice; '),
        ("time,waiting\n2026-02-30 00:00,1\n", "trace.csv:2: 2026-02-30 00:00 is no time (day is out of range"),
        ("time,waiting\n03/04/2026 10:00,1\n", 'trace.csv:2: "03/04/2026 10:00" is no time; '),
        ("time,waiting\n2026-03-01T00:00Z,1\n2026-03-01 00:15,1\n", "trace.csv:3: 2026-03-01 00:15: some rows have a"),
        ("time_s,waiting\n0,1\n1800000000,1\n", "trace.csv:3: 1800000000 counts from another zero than the rows above"),
        ("time_s,waiting\n,1\n", "trace.csv:2: the row has no time; "),
        ("time_s,waiting\n", "trace.csv: there is no row to read; "),
        ("", "trace.csv:1: the file is empty; "),
        ("nothing\n", "trace.csv:1: this is no format that is known; give one of csv, tsv"),
    ],
)
def test_what_cannot_be_told_is_refused_with_place_and_way_out(tmp_path: Path, text: str, words: str) -> None:
    assert refusal(written(tmp_path, text)).startswith(words)


def test_a_local_time_that_the_clock_jumped_over_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "time,waiting\n2026-03-29 01:45,1\n2026-03-29 02:15,1\n")
    berlin = TraceOptions(zone=ZoneInfo("Europe/Berlin"))
    assert refusal(path, berlin).startswith("trace.csv:3: 2026-03-29 02:15 does not occur in Europe/Berlin")


def test_a_declared_decimal_comma_reads_points_as_thousands(tmp_path: Path) -> None:
    path = written(tmp_path, "time_s;waiting\n0;1.234\n")
    assert samples(path)[0].value == 1.234
    assert samples(path, TraceOptions(decimal=Decimal.COMMA))[0].value == 1234.0


def test_a_line_that_is_no_object_and_a_torn_file_are_refused(tmp_path: Path) -> None:
    options = TraceOptions(format=Format.JSONL, time_unit=TimeUnit.SECONDS)
    assert refusal(written(tmp_path, '{"t": 0, "a": 1}\n[1]\n', "a.jsonl"), options).startswith(
        "a.jsonl:2: the line is"
    )
    assert refusal(written(tmp_path, '{"t": 0, "a": 1}\n{"t"\n', "a.jsonl"), options).startswith("a.jsonl:2: no JSON")
    torn = tmp_path / "torn.csv.gz"
    torn.write_bytes(gzip.compress(b"time_s,waiting\n" + b"0,1\n" * 5000)[:60])
    assert "cut off or damaged" in refusal(torn)
