"""A policy for a trace that is played faster: rates × speed, durations ÷ speed, the same replicas."""

import pytest
import yaml

from sim.demo.tempo import TempoError, at_tempo

POLICY = """
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: m, namespace: inference}
spec:
  every: 15s
  offset: 18s
  memory: 10m
  inputs:
    arrivals: {preset: vllm/request-arrivals}
    waiting: {preset: vllm/requests-waiting, max_age: 90s}
    vram: {preset: dcgm/vram-used-ratio, missing: {hold: 2m}}
  capacity: {rate_per_replica: 4.4/s, cold_start: 120s}
  terms:
    load: {throughput: arrivals, share: 80%, plus: {backlog: waiting, drain: 120s, rate_per_replica: 264/m}}
    memory: {headroom: vram, base: 88%, keep_free: 2%}
  publish: {metric: m-replicas, ceiling: 32}
"""


def spec(speed: float) -> dict:
    return yaml.safe_load(at_tempo(POLICY, speed))["spec"]


def test_an_hpa_beside_its_policy_is_left_out():
    hpa = "apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: m}\nspec: {maxReplicas: 3}\n"
    assert at_tempo(hpa, 10) == ""
    assert at_tempo(f"{hpa}---{POLICY}", 10) == at_tempo(POLICY, 10)


def test_rates_are_multiplied_and_durations_divided():
    fast = spec(10)
    assert fast["capacity"] == {"rate_per_replica": "44/s", "cold_start": "12000ms"}
    # 264 a minute are 4.4 a second.
    assert fast["terms"]["load"]["plus"] == {"backlog": "waiting", "drain": "12000ms", "rate_per_replica": "44/s"}
    assert fast["inputs"]["arrivals"]["window"] == "6000ms"
    assert fast["inputs"]["waiting"]["max_age"] == "9000ms"
    assert fast["inputs"]["vram"]["missing"] == {"hold": "12000ms"}


def test_shares_and_limits_stay():
    fast = spec(10)
    assert fast["terms"]["memory"] == {"headroom": "vram", "base": "88%", "keep_free": "2%"}
    assert fast["terms"]["load"]["share"] == "80%"
    assert fast["publish"] == {"metric": "m-replicas", "ceiling": 32}


def test_what_the_scrape_cannot_go_below_is_kept():
    fast = spec(60)
    assert fast["inputs"]["arrivals"]["window"] == "3600ms"
    assert fast["inputs"]["waiting"]["max_age"] == "5000ms"


def test_at_any_speed_the_adapter_looks_every_second_with_its_default_offset():
    for speed in (1, 30):
        assert spec(speed)["every"] == "1000ms"
        assert spec(speed)["scrape_interval"] == "900ms"
        assert "offset" not in spec(speed)


@pytest.mark.parametrize("text", ["spec: 7", "[", "a: b", "- 1"], ids=["no-mapping", "no-yaml", "no-spec", "list"])
def test_what_is_no_policy_is_refused_in_words(text):
    with pytest.raises(TempoError, match="scaleproof check"):
        at_tempo(text, 10)
