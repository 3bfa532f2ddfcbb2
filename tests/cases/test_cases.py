"""Cases from public bug reports; each expectation is read from the case's own file (see README.md)."""

import json
from pathlib import Path
from typing import Any

import pytest
from exposition import read_exposition
from policy_world import LIBRARY, T, one, outcome, outcomes, tick

from adapter.board import Board
from adapter.core.api_requests import ApiRequest, read_request
from adapter.core.lint_catalogue import CATALOGUE
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.problems import Problem
from adapter.core.quantity import parse_milli
from adapter.core.samples import Answer, Sample, Series, labels_of
from adapter.prometheus_answers import parse_result
from adapter.routes import Routes

CASES = Path(__file__).parent


def expected(case: str) -> Any:
    return json.loads((CASES / case / "expect.json").read_text())["expected"]


def read(case: str, text: str | None = None) -> tuple[list[LoadedPolicy], list[Problem]]:
    path = CASES / case / "scaleproof.yaml"
    return read_policies(path.read_text() if text is None else text, str(path), LIBRARY)


def load(case: str) -> LoadedPolicy:
    loaded, problems = read(case)
    assert len(loaded) == 1, problems
    return loaded[0]


def answer(case: str, name: str, metric: str) -> list[Series]:
    """The series of a case's Prometheus answer, under the metric that its query names, taken at the instant asked."""
    data = json.loads((CASES / case / name).read_text())["data"]["result"]
    return [
        Series(labels_of({**dict(series.labels), "__name__": metric}), (Sample(series.samples[0].value, T - 18),))
        for series in parse_result(data)
    ]


def scraped(case: str, name: str = "series.prom") -> list[Series]:
    return read_exposition((CASES / case / name).read_text(), T - 18)


def body(loaded: LoadedPolicy, series: list[Series], derived: dict[str, Answer] | None = None) -> tuple[int, str]:
    """What the API answers for the policy's metric."""
    board = Board(lambda: T)
    board.keep([loaded])
    board.publish(loaded, T, outcomes(loaded, tick(loaded, series, derived=derived)))
    reply = board.reply(loaded.policy.metadata.namespace, loaded.policy.spec.publish.metric, "")
    return reply.status, reply.body.decode()


def input_total(loaded: LoadedPolicy, series: list[Series], name: str) -> tuple[float | None, int, str]:
    result = outcome(loaded, tick(loaded, series))
    assert result.why is not None
    (found,) = [why for why in result.why.inputs if why.name == name]
    return found.total, found.pods, found.message


def test_m1_a_mean_of_nothing_is_an_error_and_not_a_number() -> None:
    loaded, want = load("M1"), expected("M1")
    (query,) = [query for query, is_raw in loaded.plan.queries if not is_raw]
    derived = {query: Answer(tuple(answer("M1", "prom.json", "")))}
    status, text = body(loaded, [one("vllm:e2e_request_latency_seconds_count", 1)], derived)
    assert status != want["http_status_not"]
    assert '"reason":"not-a-number"' in text
    assert not any(words in text for words in want["must_not_contain"])


def test_m2_a_target_that_a_share_cannot_reach_is_refused_before_anything_is_served() -> None:
    want = expected("M2")
    loaded, problems = read("M2")
    assert not loaded
    assert [problem.code for problem in problems] == [want["lint"]]
    fixed, _ = read("M2", (CASES / "M2/scaleproof.yaml").read_text().replace("target: 50", "target: 50%"))
    total, pods, _ = input_total(fixed[0], answer("M2", "prom.json", "vllm:kv_cache_usage_perc"), "kv")
    assert total is not None
    assert round(total / pods, 4) == want["avg_ratio"]


@pytest.mark.parametrize(("file", "metric"), [("prom.json", "active"), ("prom2.json", "used")])
def test_m3_a_mark_for_no_value_is_never_load(file: str, metric: str) -> None:
    loaded, want = load("M3"), expected("M3")
    assert "error" in want[file]["either"]
    status, text = body(loaded, answer("M3", file, "DCGM_FI_PROF_GR_ENGINE_ACTIVE"))
    assert status == 503
    assert '"reason":"sentinel"' in text


def test_m4_utilization_is_that_of_the_workload_and_not_of_the_exporter() -> None:
    total, pods, _ = input_total(load("M4"), scraped("M4"), "gpu")
    assert total is not None
    assert total / pods * 100 == pytest.approx(expected("M4")["value"])


def test_m5_instances_of_one_gpu_are_two() -> None:
    want = expected("M5")
    total, pods, _ = input_total(load("M5"), scraped("M5"), "gpu")
    assert total is not None
    assert (pods, round(total / pods * 100, 9)) == (want["entities"], want["percent"])


def test_m6_engines_of_a_pod_add_up_or_average_and_none_is_lost() -> None:
    loaded, want = load("M6"), expected("M6")
    assert input_total(loaded, scraped("M6"), "waiting")[0] == want["queue"]
    assert input_total(loaded, scraped("M6"), "kv")[0] == pytest.approx(want["kv_mean"])
    assert input_total(loaded, scraped("M6"), "kv_max")[0] == want["kv_max"]


def test_m7_free_memory_is_a_share_of_the_whole_card() -> None:
    loaded, want = load("M7"), expected("M7")
    assert input_total(loaded, scraped("M7"), "free")[0] == want["ratio"]
    assert input_total(loaded, scraped("M7"), "free_bytes")[0] == want["bytes"]
    ratio, _, message = input_total(loaded, scraped("M7", "series-noreserved.prom"), "free")
    assert ratio == pytest.approx(want["ratio_noreserved"])
    assert "reserved unknown" in message


def asked(case: str, name: str = "request.http") -> tuple[ApiRequest, str]:
    """A case's request, read, and its Accept header."""
    first, *headers = (CASES / case / name).read_text().strip().splitlines()
    accept = next(line.partition(": ")[2] for line in headers if line.startswith("Accept: "))
    method, target, _ = first.split()
    return read_request(method, target), accept


def api_answer(loaded: LoadedPolicy | None, series: list[Series], request: tuple[ApiRequest, str]) -> tuple[int, Any]:
    """Status and document that the API gives, once a policy (if any) has had its tick."""
    board = Board(lambda: T)
    if loaded is not None:
        board.keep([loaded])
        board.publish(loaded, T, outcomes(loaded, tick(loaded, series)))
    answer = Routes(board).answer(request[0], {}, request[1])
    return answer.status, json.loads(answer.body)


def test_a1_a_name_in_upper_case_is_found_in_the_lower_case_that_the_autoscaler_asks_with() -> None:
    want = expected("A1")["either"][0]
    series = answer("A1", "prom.json", "DCGM_FI_DEV_GPU_UTIL")
    status, document = api_answer(load("A1"), series, asked("A1"))
    assert (status, [item["value"] for item in document["items"]]) == (want["status"], [want["value"]])


def test_a2_a_set_based_selector_with_plus_signs_for_blanks_adds_up_just_what_it_selects() -> None:
    want = expected("A2")
    status, document = api_answer(load("A2"), scraped("A2"), asked("A2"))
    assert status == want["status"]
    assert sum(parse_milli(item["value"]) for item in document["items"]) == want["sum_of_items"] * 1000


def test_a3_a_value_that_no_label_can_have_is_a_bad_request_that_names_it() -> None:
    want = expected("A3")
    series = [one("vllm:num_requests_waiting", 9, model_name="meta-llama/Llama-3.1-8B-Instruct")]
    status, document = api_answer(load("A3"), series, asked("A3"))
    assert (status, document["reason"]) == (want["status"], want["reason"])
    assert "meta-llama/Llama-3.1-8B-Instruct" in document["message"]
    assert want["lint"] in CATALOGUE  # tests/policy/test_selector_values.py holds an HPA with this selector against it


@pytest.mark.parametrize("request_file", ["request.http", "request2.http"])
def test_a4_discovery_without_any_policy_lists_something(request_file: str) -> None:
    want = expected("A4")
    status, document = api_answer(None, [], asked("A4", request_file))
    assert (status, document["kind"]) == (want["status"], want["kind"])
    assert len(document["resources"]) >= want["resources_min"]


VALUES = [line.split("\t") for line in (CASES / "A5/values.tsv").read_text().splitlines() if not line.startswith("#")]


@pytest.mark.parametrize(("text", "_quantity", "accepted"), VALUES, ids=[row[0] for row in VALUES])
def test_a5_the_autoscaler_sees_every_digit(text: str, _quantity: str, accepted: str) -> None:
    loaded = load("A5")
    series = [Series(labels_of({"__name__": "value"}), (Sample(float(text), T - 18),))]
    status, answered = body(loaded, series)
    if float(text) < 0:
        # The HPA reads a negative sum as overflow and goes to the maximum, so it is refused.
        assert (status, '"reason":"negative"' in answered) == (503, True)
        return
    low, _, high = accepted.partition("..")
    assert status == 200
    seen = parse_milli(json.loads(answered)["items"][0]["value"])
    assert int(low) <= seen <= int(high or low)


def test_a6_two_who_ask_get_one_item_each() -> None:
    loaded, want = load("A6"), expected("A6")
    series = answer("A6", "prom.json", "sample_load")
    for _ in range(2):
        status, text = body(loaded, series)
        items = json.loads(text)["items"]
        assert status == 200
        assert sum(parse_milli(item["value"]) for item in items) == parse_milli(want["sum_of_items"])
        assert [item["metricName"] for item in items] == want["metric_names"]


def test_p1_a_key_that_is_too_deep_is_refused_with_its_line_and_its_right_place() -> None:
    want = expected("P1")
    loaded, problems = read("P1")
    assert not loaded
    assert want["load"] == "error"
    (problem,) = problems
    assert (problem.code, problem.position.line) == ("unknown-key", want["line"])
    assert "max_replicas" in problem.message
    assert "publish.ceiling" in problem.fix


@pytest.mark.parametrize(
    ("file", "words"),
    [("policy.yaml", "is required"), ("policy-zero.yaml", "greater than 0"), ("policy-neg.yaml", "greater than 0")],
)
def test_p2_a_target_left_out_zero_or_negative_is_refused(file: str, words: str) -> None:
    assert expected("P2")["load"] == "error"
    neutral = (CASES / "P2" / file).read_text()
    target = neutral.split("value: ")[1].split("}")[0] if "value: " in neutral else None
    given = f", per_replica: {target}" if target is not None else ""
    loaded, problems = read("P2", (CASES / "P2/scaleproof.yaml").read_text().replace(" TARGET", given))
    assert not loaded
    assert [words in problem.message for problem in problems] == [True]


def test_m8_a_metric_renamed_in_mid_rollout_counts_each_pod_once() -> None:
    loaded, want = load("M8"), expected("M8")
    total, pods, _ = input_total(loaded, scraped("M8"), "kv")
    assert total is not None
    assert total / pods == pytest.approx(want["value"])
    assert total / pods != pytest.approx(want["must_not"])
    assert pods == 3
    # The old name alone covers two of the three pods; where ready pods are known, the third is told as missing.
    assert input_total(loaded, scraped("M8"), "old")[1] == 2


def test_p4_a_selector_that_matches_nothing_is_never_answered_with_the_total() -> None:
    loaded, want = load("P4"), expected("P4")
    board = Board(lambda: T)
    board.keep([loaded])
    board.publish(loaded, T, outcomes(loaded, tick(loaded, answer("P4", "prom.json", "saturation_pct"))))
    reply = board.reply("prod", "saturation", "team=nope")
    assert str(reply.status) in want["either"]
    assert str(want["must_not"]) not in reply.body.decode()
    assert board.reply("prod", "saturation", "").status == 200
