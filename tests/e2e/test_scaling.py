"""A real HPA scales a real Deployment on the adapter's metric, through the aggregator and Kubernetes' own rights.

Numbers: 10 requests in flight are one replica's (policies/in-flight.yaml). The HPA's target is an AverageValue of 1,
its tolerance and windows are 0, so replicas = ⌈in flight ÷ 10⌉. New pods are ready 6 s, three syncs, after creation.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from child_process import eventually

pytestmark = pytest.mark.slow

StartStory = Callable[[str, int], Any]
"""Namespace and requests in flight → Story (conftest.py)."""


def answers(own_metrics: str, code: int) -> float:
    """How many requests the adapter has answered with an HTTP status."""
    lines = re.findall(r'^scaleproof_requests_total\{.*code="(\d+)".*\} (\S+)$', own_metrics, re.MULTILINE)
    return sum(float(value) for found, value in lines if int(found) == code)


def test_replicas_follow_the_load_up_and_down_and_never_pass_what_is_needed(start_story: StartStory) -> None:
    """
    34 in flight are 3.4 replicas, so 4. While the three new pods load, and again while Prometheus has not found them
    yet, the one old pod holds all 34 or its share of 9; neither asks for more, nor lets any go: 1, 4 and nothing else.
    12 in flight are 1.2, so 2.
    """
    story = start_story("e2e-follow", 34)
    story.wait_for_ready(4)
    assert story.follower.replicas_seen == [1, 4]

    story.exporter.set_load(12)
    story.wait_for_ready(2)
    assert story.follower.replicas_seen == [1, 4, 2]
    assert story.scaling_active()["status"] == "True"


def test_replicas_hold_while_prometheus_is_down_and_follow_again_when_it_is_back(start_story: StartStory) -> None:
    """
    26 in flight are 3 replicas. Prometheus stops: for six syncs at least the HPA gets a 503, says why, and holds 3,
    though load has gone. Prometheus comes back with 45 in flight: 4.5 replicas, so 5, from the same adapter process;
    4 on the way would be right as well, while only some pods have been scraped again.
    """
    story = start_story("e2e-outage", 26)
    story.wait_for_ready(3)
    adapter = story.adapter.child.process.pid

    story.prometheus.stop()
    eventually(lambda: story.metric()[0] == 503, "the metric has become an error", 30)
    story.exporter.set_load(0)
    status = story.metric()[1]
    assert (status["kind"], status["reason"]) == ("Status", "ServiceUnavailable")
    assert status["details"]["causes"][0]["reason"] == "upstream-error"

    words = set()

    def the_hpa_says_it_in_our_words() -> bool:
        words.add(story.metric()[1]["message"])
        condition = story.scaling_active()
        return condition["status"] == "False" and any(each in condition["message"] for each in words)

    eventually(the_hpa_says_it_in_our_words, f"the HPA's condition has our words: {words}", 30)
    assert story.scaling_active()["reason"] == "FailedGetExternalMetric"
    # The HPA asks once each sync, and nobody else from here on: six more answers are six syncs.
    before = answers(story.adapter.own_metrics(), 503)
    assert before > 0
    eventually(lambda: answers(story.adapter.own_metrics(), 503) >= before + 6, "six more syncs without a metric", 120)
    assert story.follower.replicas_seen == [1, 3]

    story.exporter.set_load(45)
    story.exporter.wait_until_shown()  # else the first scrape may still find no load, and 3 → 1 would be right
    story.prometheus.start()
    story.wait_for_ready(5)
    assert story.follower.replicas_seen in ([1, 3, 5], [1, 3, 4, 5])
    assert story.scaling_active()["status"] == "True"
    assert story.adapter.child.process.pid == adapter and story.adapter.child.is_running
