"""Formats that tell one series after another, and request logs: Prometheus JSON, OpenMetrics, promtool, ServeGen."""

import json
from pathlib import Path

import pytest

from sim.traces.opening import detect, open_trace
from sim.traces.options import Duplicates, Format, TraceOptions, parse_mapping
from sim.traces.series_notation import Notation
from sim.traces.trace import TraceError, TraceSample

A, B = (("pod", "a"),), (("pod", "b"),)
T = 1_800_000_000


def test_a_range_query_is_read_in_the_order_of_time(tmp_path: Path) -> None:
    path = tmp_path / "range.json"
    result = [
        {"metric": {"__name__": "vllm:num_requests_waiting", "pod": "a"}, "values": [[T, "3"], [T + 15, "4"]]},
        {"metric": {"__name__": "vllm:num_requests_waiting", "pod": "b"}, "values": [[T + 0.5, "NaN"]]},
        {"metric": {"__name__": "up", "pod": "a"}, "values": [[T, "1"]]},
    ]
    answer = {"status": "success", "data": {"resultType": "matrix", "result": result}, "warnings": ["a store is away"]}
    path.write_text(json.dumps(answer))
    options = TraceOptions(mapping=(parse_mapping("waiting=vllm:num_requests_waiting"),))
    trace = open_trace(path, options)
    first, second, third = trace.samples()
    assert (first, third) == (TraceSample(0.0, "waiting", 3.0, A), TraceSample(15.0, "waiting", 4.0, A))
    assert (second.time, second.labels, str(second.value)) == (0.5, B, "nan")
    assert trace.header.epoch == T
    assert trace.header.notes[0] == "the answer came with a warning and may lack series: a store is away"
    with pytest.raises(TraceError, match="is no name of an input; map it with --map 'INPUT=vllm:num_requests_waiting'"):
        open_trace(path)


def test_an_answer_without_times_and_an_error_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    path.write_text('{"status":"success","data":{"resultType":"vector","result":[]}}')
    with pytest.raises(TraceError, match="the result is a vector and has no times in between; ask /api/v1/query_range"):
        open_trace(path)
    path.write_text('{"status":"error","errorType":"bad_data","error":"parse error"}')
    with pytest.raises(TraceError, match="the answer is an error: parse error"):
        open_trace(path)


OPEN_METRICS = f"""# TYPE waiting gauge
waiting{{pod="a"}} 3 {T}
waiting{{pod="a"}} 4 {T + 15}.25
# TYPE done counter
done_total{{pod="a"}} 10 {T}.5
# EOF
"""


def test_open_metrics_with_time_stamps_is_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "metrics.om"
    path.write_text(OPEN_METRICS)
    assert detect(path) is Format.OPENMETRICS
    assert list(open_trace(path).samples()) == [
        TraceSample(0.0, "waiting", 3.0, A),
        TraceSample(0.5, "done_total", 10.0, A),
        TraceSample(15.25, "waiting", 4.0, A),
    ]


def test_open_metrics_that_is_wrong_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "metrics.om"
    path.write_text(OPEN_METRICS.replace(f" 4 {T + 15}.25", " four"))
    with pytest.raises(TraceError, match=r"metrics\.om:3: no OpenMetrics"):
        open_trace(path)
    path.write_text(f"# TYPE waiting gauge\nwaiting 3\n# TYPE done counter\ndone_total 1 {T}\n# EOF\n")
    with pytest.raises(TraceError, match=r"metrics\.om:3 \(or above\): a sample of waiting has no time stamp"):
        open_trace(path)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1 2 _ 4", [1, 2, None, 4]),
        ("0+10x3", [0, 10, 20, 30]),
        ("-2-4x2", [-2, -6, -10]),
        ("1x2 _x2 stale 5", [1, 1, 1, None, None, None, 5]),
        ("1.5e2+0.5x1 Inf -Inf", [150, 150.5, float("inf"), float("-inf")]),
    ],
)
def test_promtools_notation_means_what_promtool_says(text: str, values: list[float | None]) -> None:
    assert list(Notation(text).values()) == values


def test_a_promtool_test_file_is_a_trace_on_its_interval(tmp_path: Path) -> None:
    path = tmp_path / "test.yaml"
    path.write_text(
        "tests:\n- interval: 15s\n  input_series:\n"
        "  - series: 'waiting{pod=\"a\"}'\n    values: '1 _ 3'\n  - series: waiting{pod=\"b\"}\n    values: 5+1x1\n"
    )
    trace = open_trace(path)
    assert list(trace.samples()) == [
        TraceSample(0.0, "waiting", 1.0, A),
        TraceSample(0.0, "waiting", 5.0, B),
        TraceSample(15.0, "waiting", 6.0, B),
        TraceSample(30.0, "waiting", 3.0, A),
    ]
    assert trace.header.blanks == {"waiting": 1}
    path.write_text(path.read_text().replace("5+1x1", "5+x"))
    with pytest.raises(TraceError, match=r'test\.yaml:6: "5\+x" is no part of a series'):
        open_trace(path)


def test_a_second_value_for_one_time_needs_a_rule(tmp_path: Path) -> None:
    path = tmp_path / "range.json"
    path.write_text(json.dumps([{"metric": {"__name__": "waiting"}, "values": [[T, "1"], [T, "2"]]}]))
    with pytest.raises(TraceError, match=r"result\[0\].values\[1\]: a second value of waiting for one time; say which"):
        open_trace(path)
    trace = open_trace(path, TraceOptions(duplicates=Duplicates.LAST))
    assert [one.value for one in trace.samples()] == [2.0]


def test_a_log_of_azure_is_rates_at_the_end_of_each_bucket(tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    path.write_text(
        "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,300,30\n"
        "2023-11-16 18:17:18.9799599,150,15\n2023-11-16 18:17:33.9799600,600,60"
    )
    # 15 s from 03.9799600 on: two requests in the first bucket, none in the second, one in the third.
    assert [(one.time, one.input, one.value) for one in open_trace(path).samples()] == [
        (15.0, "requests_per_second", 2 / 15),
        (15.0, "prompt_tokens_per_second", 30.0),
        (15.0, "generated_tokens_per_second", 3.0),
        (30.0, "requests_per_second", 0.0),
        (30.0, "prompt_tokens_per_second", 0.0),
        (30.0, "generated_tokens_per_second", 0.0),
        (45.0, "requests_per_second", 1 / 15),
        (45.0, "prompt_tokens_per_second", 40.0),
        (45.0, "generated_tokens_per_second", 4.0),
    ]


def test_a_log_of_mooncake_by_its_compact_columns_needs_no_unit(tmp_path: Path) -> None:
    path = tmp_path / "mooncake.csv"
    path.write_text("timestamp_ms,input_length,output_length,prefix_blocks,new_blocks\n0,60,6,0,14\n3000,90,9,0,1\n")
    options = TraceOptions(mapping=(parse_mapping("arrivals=requests_per_second*60"),), bucket=30.0)
    # Two requests in 30 s are 4 a minute.
    assert list(open_trace(path, options).samples()) == [TraceSample(30.0, "arrivals", 4.0)]


def test_a_window_of_servegen_without_a_rate_is_a_gap_of_the_source(tmp_path: Path) -> None:
    path = tmp_path / "servegen.csv"
    path.write_text(
        "t_seconds,requests_per_second,active_clients,mean_input_tokens,mean_output_tokens\n"
        "0,212.78,43,355.4,292.5\n600,0.0000,0,,\n1200,187.72,43,351.7,291.0\n"
    )
    trace = open_trace(path)
    rates = [(one.time, one.value) for one in trace.samples() if one.input == "requests_per_second"]
    assert rates == [(0.0, 212.78), (1200.0, 187.72)]
    assert trace.header.blanks["requests_per_second"] == 1


def test_series_with_times_of_their_own_are_no_holes_and_a_gap_of_all_is_one(tmp_path: Path) -> None:
    path = tmp_path / "range.json"
    # Pod a is scraped at 0, 15, 30, then at 120; pod b 4 s later each time.
    times = (0, 15, 30, 120)
    result = [
        {"metric": {"__name__": "waiting", "pod": pod}, "values": [[T + late + time, "1"] for time in times]}
        for pod, late in (("a", 0), ("b", 4))
    ]
    path.write_text(json.dumps(result))
    header = open_trace(path).header
    assert header.step == 15.0
    assert [(hole.start, hole.end) for hole in header.holes] == [(34.0, 120.0)]
