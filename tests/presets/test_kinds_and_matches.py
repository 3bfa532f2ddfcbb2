"""What check refuses of presets: inputs that no term can divide, and values of a match that Prometheus would refuse."""

import re

import pytest
from policy_world import HEAD, LIBRARY

from adapter.core.policy_reading import read_policies

TERMS = {
    "per_second": "throughput: x, share: 80%, rate_per_replica: 1/s",
    "count": "concurrency: x, per_replica: 10",
    "ratio": "utilization: x, target: 70%",
    "percent": "utilization: x, target: 70%",
    "bytes": "headroom: x, base: 1GiB, capacity: 10GiB, keep_free: 1GiB",
    "seconds": "latency: x, objective: 2s",
    "celsius": "utilization: x, target: 70%",
}


def codes(source: str, term: str) -> list[str]:
    spec = f"""\
  replicas: {{preset: kube/deployment-replicas, match: {{deployment: d}}}}
  inputs: {{x: {source}}}
  terms: {{t: {{{term}}}}}
  publish: {{metric: m}}
"""
    _, problems = read_policies(HEAD + spec, "p.yaml", LIBRARY)
    return [problem.code for problem in problems if problem.severity == "error"]


def term_of(name: str) -> str:
    preset = LIBRARY.input(name)
    assert preset is not None
    return TERMS[preset.unit]


@pytest.mark.parametrize("name", LIBRARY.names()[0])
def test_a_term_takes_what_divides_and_refuses_what_does_not(name: str) -> None:
    preset = LIBRARY.input(name)
    assert preset is not None
    found = codes(f"{{preset: {name}}}", term_of(name))
    match preset.kind:
        case "completions":
            assert found == ["completions-saturate"]
        case "bounded":
            assert found == ["bounded-saturates"]
        case "condition" if preset.unit == "celsius":
            assert found == ["unit-mismatch"]
        case "condition" if preset.unit == "seconds":
            assert found == ["mean-latency"]
        case "condition" | "event":
            assert found == ["condition-only"]
        case _:
            assert found == []


KINDS = {
    r"requests-running": "bounded",
    r"requests-(waiting|in-flight|pending|queued)|.*-queue|flow-control-waiting": "gauge",
    r"request-arrivals": "arrivals",
    r"request-completions|.*-tokens|throughput": "completions",
    r"(cache|kv-cache|prefix-cache)-hit-ratio|error-ratio|aborted-ratio|cpu-throttled-ratio": "condition",
    r"(memory-)?temperature|.*-limit|vram-(free|free-ratio|reserved)|.*-mean|average-.*|preemptions": "condition",
    r"kv-cache-usage|gpu-utilization|engine-active|vram-used(-ratio)?": "gauge",
    r"time-to-first-token|inter-token-latency|request-latency|.*-time": "histogram",
    r"oom-(kills|events)|xid-changes|container-restarts": "event",
}
"""What the names of all families say of their kind, apart from the data."""


@pytest.mark.parametrize("name", LIBRARY.names()[0])
def test_presets_of_one_name_are_of_one_kind_in_every_family(name: str) -> None:
    preset = LIBRARY.input(name)
    assert preset is not None
    said = {kind for pattern, kind in KINDS.items() if re.fullmatch(pattern, name.split("/")[1])}
    assert said in (set(), {preset.kind.value})


@pytest.mark.parametrize("name", ["triton/batch-size-mean", "dcgm/temperature", "vllm/requests-running"])
def test_what_no_term_divides_is_read_by_an_expression(name: str) -> None:
    assert codes(f"{{preset: {name}}}", 'expression: "x_max > 10 ? ready + 1 : ready"') == []


@pytest.mark.parametrize("name", [name for name in LIBRARY.names()[0] if name.endswith(("vram-used", "used-ratio"))])
def test_memory_that_an_idle_replica_holds_needs_a_base(name: str) -> None:
    amount = ", capacity: 10GiB, keep_free: 1GiB" if name.endswith("vram-used") else ", keep_free: 10%"
    assert codes(f"{{preset: {name}}}", f"headroom: x{amount}") == ["base-missing"]


@pytest.mark.parametrize(
    ("match", "refused"),
    [
        ('{pod: "~chat-.*"}', []),
        ('{pod: "a[b"}', []),  # no regular expression, so a name like any other
        ('{pod: "~chat-(.*"}', ["regex"]),
        ('{pod: "~a{2,1}"}', ["regex"]),
        ('{__name__: "up"}', ["promql"]),
    ],
)
def test_a_match_that_prometheus_would_refuse_is_refused_before(match: str, refused: list[str]) -> None:
    source = f"{{preset: vllm/requests-in-flight, match: {match}}}"
    assert codes(source, TERMS["count"]) == refused
