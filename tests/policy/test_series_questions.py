"""`check --prometheus`: whether the series and labels of each input exist now, and what is nearly the same."""

import re

import pytest
from fake_prometheus import FakePrometheus, answering, dripping_head, failing, fake_prometheus, success
from policy_world import LIBRARY

from adapter import series_questions
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.problems import Problem
from adapter.series_questions import ask_prometheus

TEXT = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: chat, namespace: prod}
spec:
  replicas: {preset: kube/deployment-replicas, match: {deployment: chat}}
  inputs:
    flight: {preset: vllm/requests-waiting, match: {model_name: llama}}
  terms:
    batch: {backlog: flight, drain: 2m, rate_per_replica: 4/s}
  publish: {metric: chat-replicas}
"""
POD = {"pod": "chat-1"}


def loaded(text: str = TEXT) -> list[LoadedPolicy]:
    found, _ = read_policies(text, "chat.yaml", LIBRARY)
    assert len(found) == 1
    return found


def nothing(server: FakePrometheus, part: str) -> None:
    server.behaviours[part] = lambda exchange: exchange.send(200, success([]))


def asked(server: FakePrometheus, text: str = TEXT) -> list[Problem]:
    server.behaviours.setdefault("kube_deployment", answering(1, deployment="chat", namespace="prod"))
    return ask_prometheus(loaded(text), server.url)


def test_series_that_exist_give_no_problem_and_each_question_is_asked_once() -> None:
    with fake_prometheus(answering(1, **POD)) as server:
        assert asked(server) == []
        assert set(server.seen.values()) == {1}
        assert any('model_name="llama"' in query for query in server.seen)


def test_a_label_value_that_nothing_has_comes_with_the_nearest_one() -> None:
    with fake_prometheus(answering(1, **POD)) as server:
        server.behaviours["count by (model_name)"] = answering(1, model_name="llama3")
        nothing(server, 'model_name="llama"')
        (problem,) = asked(server)
    assert (problem.code, problem.severity, problem.position.line) == ("no-series", "warning", 7)
    assert 'vllm:num_requests_waiting{namespace=~"prod|",model_name="llama"}' in problem.message
    assert 'model_name is never "llama"' in problem.message
    assert problem.fix == "model_name: did you mean llama3?"


def test_a_metric_that_does_not_exist_is_said_to_be_so() -> None:
    with fake_prometheus(answering(1, **POD)) as server:
        nothing(server, "vllm")
        (problem,) = asked(server)
    assert "the metric does not exist" in problem.message


def test_series_without_the_label_that_tells_pods_apart_are_a_problem() -> None:
    with fake_prometheus(answering(1)) as server:
        codes = [(problem.code, problem.position.line) for problem in asked(server)]
    assert ("no-label", 7) in codes


def test_what_is_meant_is_silenced_with_a_reason() -> None:
    silent = TEXT.replace("prod}", 'prod, annotations: {scaleproof.dev/ignore: "no-series: scaled to zero now"}}', 1)
    with fake_prometheus(answering(1, **POD)) as server:
        nothing(server, "vllm")
        assert asked(server, silent) == []


@pytest.mark.parametrize(
    "behaviour", [failing(503), failing(200, b"<html>"), dripping_head], ids=["503", "html", "drip"]
)
def test_a_prometheus_that_does_not_answer_ends_in_one_error_in_bounded_time(
    behaviour: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(series_questions, "QUESTION_SECONDS", 0.6)
    with fake_prometheus(behaviour) as server:  # type: ignore[arg-type]
        (problem,) = asked(server)
    assert (problem.code, problem.severity) == ("prometheus-unanswered", "error")
    assert re.match(r"127\.0\.0\.1:\d+ ", problem.message)
