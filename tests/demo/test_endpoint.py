"""The demonstration's endpoint answers as Prometheus does, for what it answers at all.

The trace is `small_traces`. It begins at wall time 1000 and is played as recorded; scrapes fall on multiples of 0.9 s:
1000.8, 1001.7, 1002.6, … Pod a's waiting grows by 10 a second from 0, so it reads 8, 17, 26 there.
"""

import json
import urllib.error
import urllib.parse
import urllib.request

import pytest
from small_traces import small_trace

from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource
from sim.demo.player import TracePlayer
from sim.demo.prometheus_endpoint import PrometheusEndpoint, QueryApi

WAITING = "vllm:num_requests_waiting"


def ask(query: str, at: float, now: float = 1002.7, speed: float = 1.0) -> list[dict]:
    player = TracePlayer(small_trace(), begun=1000.0, speed=speed)
    answer = QueryApi(player, lambda: now).answer("/api/v1/query", {"query": query, "time": str(at)})
    assert answer.status == 200, answer.body
    assert answer.body["status"] == "success"
    return answer.body["data"]["result"]


def values(query: str, at: float, **options: float) -> list[tuple[float, str]]:
    (series,) = ask(query, at, **options)
    return [tuple(pair) for pair in series["values"]]


def test_a_range_selector_gives_samples_with_the_times_of_their_scrapes():
    assert values(f"{WAITING}[2s]", 1002.6) == [(1000.8, "8"), (1001.7, "17"), (1002.6, "26")]


def test_a_range_is_open_on_its_left_and_ends_at_the_time_asked_for():
    # (1000.8, 1002.5]: the scrape at 1000.8 is just outside, the one at 1002.6 has not happened.
    assert values(f"{WAITING}[1700ms]", 1002.5) == [(1001.7, "17")]


def test_nothing_is_told_of_the_future():
    assert values(f"{WAITING}[1000s]", 1900, now=1002.0) == [(1000.8, "8"), (1001.7, "17")]


def test_a_plain_selector_gives_the_newest_sample_stamped_with_the_time_asked_for():
    (series,) = ask(WAITING, 1002.5)
    assert series["value"] == (1002.5, "17")
    assert series["metric"] == {
        "__name__": "vllm:num_requests_waiting",
        "engine": "0",
        "instance": series["metric"]["instance"],
        "job": "vllm",
        "model_name": "m",
        "namespace": "inference",
        "pod": "m-5d4-a",
    }


def test_played_ten_times_as_fast_counters_advance_ten_times_as_fast():
    # At 1001.7 the trace is at 17 s: 20 completions a second make 340, of which one in ten ended by length.
    (series,) = ask('vllm:request_success_total{finished_reason="length"}', 1002.0, speed=10)
    assert series["value"][1] == "34"


def test_a_pod_that_has_gone_is_in_no_plain_answer_but_still_in_the_range():
    cards = "DCGM_FI_DEV_FB_USED"
    # At speed 10 the scrape at 1000.8 is trace 8 s (both pods), that at 1001.7 is 17 s (pod b has gone).
    assert {one["metric"]["exported_pod"] for one in ask(cards, 1001.0, speed=10)} == {"m-5d4-a", "m-5d4-b"}
    assert {one["metric"]["exported_pod"] for one in ask(cards, 1002.0, speed=10)} == {"m-5d4-a"}
    assert len(ask(f"{cards}[60s]", 1002.0, speed=10)) == 2


def test_a_pod_that_loads_has_cards_and_a_state_but_no_engine():
    assert len(ask(WAITING, 1001.0)) == 1
    (state,) = ask('kube_pod_status_ready{pod="m-5d4-b",condition="true"}', 1001.0)
    assert state["value"][1] == "0"


def test_when_the_trace_is_over_it_begins_again_with_new_pods():
    # The trace has 45 s, played in 4.5 s: at 1005.3 it is at 8 s of its second round.
    (series,) = ask(WAITING, 1005.3, now=1005.4, speed=10)
    assert series["metric"]["pod"] == "m-5d41-a"


@pytest.mark.parametrize(
    ("matchers", "expected"),
    [
        pytest.param('exported_pod="m-5d4-a"', {"a"}, id="equal"),
        pytest.param('exported_pod!="m-5d4-a"', {"b"}, id="not-equal"),
        pytest.param('exported_pod=~"m-5d4-.*"', {"a", "b"}, id="regex"),
        pytest.param('exported_pod=~"m-5d4"', set(), id="regex-is-anchored"),
        pytest.param('exported_pod=~"m|m-5d4-b"', {"b"}, id="alternatives-are-anchored-as-a-whole"),
        pytest.param('exported_pod!~".*-b"', {"a"}, id="not-regex"),
        pytest.param('absent=""', {"a", "b"}, id="a-label-that-is-absent-is-empty"),
        pytest.param('absent!=""', set(), id="a-label-that-is-absent-is-not-something"),
    ],
)
def test_matchers_select_as_in_prometheus(matchers, expected):
    found = ask(f"DCGM_FI_DEV_FB_FREE{{{matchers}}}", 1001.0)
    assert {one["metric"]["exported_pod"].rpartition("-")[2] for one in found} == expected


@pytest.mark.parametrize(
    ("path", "parameters", "status", "kind"),
    [
        pytest.param("query", {"query": "up{"}, 400, "bad_data", id="no-promql"),
        pytest.param("query", {}, 400, "bad_data", id="no-query"),
        pytest.param("query", {"query": "up", "time": "soon"}, 400, "bad_data", id="no-time"),
        pytest.param("query", {"query": "up", "time": "nan"}, 400, "bad_data", id="time-not-a-number"),
        pytest.param("query", {"query": 'up{a=~"(?=b)"}'}, 400, "bad_data", id="regex-that-RE2-refuses"),
        pytest.param("query", {"query": "rate(up[1m])"}, 422, "execution", id="function"),
        pytest.param("query", {"query": "up offset 1m"}, 422, "execution", id="offset"),
        pytest.param("query_range", {"query": "up"}, 422, "execution", id="range-query"),
    ],
)
def test_what_it_cannot_answer_it_refuses_in_prometheus_own_form(path, parameters, status, kind):
    player = TracePlayer(small_trace(), begun=1000.0)
    answer = QueryApi(player, lambda: 1002.7).answer(f"/api/v1/{path}", parameters)
    assert answer.status == status
    assert answer.body["status"] == "error"
    assert answer.body["errorType"] == kind
    assert answer.body["error"]


@pytest.fixture
def endpoint():
    running = PrometheusEndpoint(TracePlayer(small_trace(), begun=1000.0), now=lambda: 1002.7)
    running.start()
    yield running
    running.close()


def test_the_adapters_own_client_reads_it(endpoint):
    source = PrometheusSource(endpoint.url)
    answer = source.instant(f"{WAITING}[2s]", 1002.6, Deadline(5))
    source.close()
    assert answer.failure is None
    assert [(one.time, one.value) for one in answer.series[0].samples] == [(1000.8, 8), (1001.7, 17), (1002.6, 26)]


def test_a_form_may_carry_the_query_and_errors_are_json(endpoint):
    form = urllib.parse.urlencode({"query": "sum(up)"}).encode()
    with pytest.raises(urllib.error.HTTPError) as raised:
        urllib.request.urlopen(f"{endpoint.url}/api/v1/query", data=form, timeout=5)
    with raised.value as answer:
        assert answer.code == 422
        assert json.load(answer)["errorType"] == "execution"


def test_it_is_ready_as_prometheus_is(endpoint):
    with urllib.request.urlopen(f"{endpoint.url}/-/ready", timeout=5) as answer:
        assert answer.read() == b"Prometheus Server is Ready."
