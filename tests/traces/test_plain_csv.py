"""The plain CSV trace: what is read, what is told of it, and what is refused with its line."""

import gzip
from pathlib import Path

import pytest

from sim.replay.rescraping import Rescraped
from sim.traces.opening import open_trace
from sim.traces.plain_csv import PlainCsv
from sim.traces.trace import Hole, TraceError, TraceSample


def written(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_columns_are_inputs_and_rows_are_times(tmp_path: Path) -> None:
    trace = PlainCsv(written(tmp_path, "t_s,arrivals,waiting\n0,1.5,3\n15,2,\n"))
    assert list(trace.samples()) == [
        TraceSample(0, "arrivals", 1.5),
        TraceSample(0, "waiting", 3),
        TraceSample(15, "arrivals", 2),
    ]
    header = trace.header
    assert (header.inputs, header.start, header.end, header.step) == (("arrivals", "waiting"), 0, 15, 15)
    assert (dict(header.blanks), header.notes) == ({"waiting": 1}, ("1 blank sample",))


def test_samples_can_be_read_again(tmp_path: Path) -> None:
    trace = PlainCsv(written(tmp_path, "t_s,a\n0,1\n1,2\n"))
    assert list(trace.samples()) == list(trace.samples())


def test_a_column_may_be_one_pods(tmp_path: Path) -> None:
    trace = PlainCsv(written(tmp_path, 't_s,gpu{pod=a},"gpu{pod=b,node=""n""}"\n0,0.5,0.7\n'))
    assert [sample.labels for sample in trace.samples()] == [(("pod", "a"),), (("node", "n"), ("pod", "b"))]
    assert trace.header.inputs == ("gpu",)
    assert trace.header.has_pods


def test_a_gap_of_more_than_a_step_and_a_half_is_a_hole(tmp_path: Path) -> None:
    rows = "".join(f"{t},1\n" for t in (0, 15, 30, 52, 75, 90, 105))
    # 22 s are within 1.5 × 15 s, 23 s are not.
    assert PlainCsv(written(tmp_path, "t_s,a\n" + rows)).header.holes == (Hole(52, 75),)


def test_what_is_compressed_is_read_too(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(b"\xef\xbb\xbft_s,a\r\n0, 1 \r\n\r\n15,2\r\n"))
    assert [sample.value for sample in open_trace(path).samples()] == [1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("time,a\n0,1\n", ':1: the first column is "time"'),
        ("", ':1: the first column is ""'),
        ("t_s\n0\n", ":1: 0 columns of inputs"),
        ("t_s,a,a\n0,1,2\n", ':1: the column "a" stands twice'),
        ("t_s,a b\n0,1\n", ':1: "a b" is no column'),
        ("t_s,a{pod}\n0,1\n", ':1: "a{pod}" is no column'),
        ("t_s,a\n", "has no row"),
        ("t_s,a\n0,1,2\n", ":2: 3 cells, the header has 2"),
        ("t_s,a\n0,1\n15,x\n", ':3: "x" is no number'),
        ("t_s,a\n0,1\n,2\n", ":3: the row has no time"),
        ("t_s,a\n15,1\n0,2\n", ":3: the time 0 is before the row above"),
        ("t_s,a\nnan,1\n", ":2: no finite time"),
    ],
)
def test_what_is_no_plain_trace_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(TraceError) as caught:
        list(PlainCsv(written(tmp_path, text)).samples())
    assert words in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        open_trace(tmp_path / "none.csv")


def test_scraping_anew_takes_the_newest_value_that_is_not_too_old(tmp_path: Path) -> None:
    trace = PlainCsv(written(tmp_path, "t_s,a\n0,1\n10,2\n20,3\n60,4\n"))
    seen = [(sample.time, sample.value) for sample in Rescraped(trace, 10, 5, None).samples()]
    # Steps of 10 s: a value counts for 15 s, so that of 20 s is gone at 45 s.
    assert seen == [(5, 1), (15, 2), (25, 3), (35, 3)]


def test_filling_forward_has_a_limit(tmp_path: Path) -> None:
    trace = PlainCsv(written(tmp_path, "t_s,a\n0,1\n10,2\n20,\n30,\n40,\n50,5\n"))
    seen = [(sample.time, sample.value) for sample in Rescraped(trace, 10, 0, 25).samples()]
    assert seen == [(0, 1), (10, 2), (20, 2), (30, 2), (50, 5)]
