"""The idle share: what one idle replica asks for, computed when a policy is checked, with the numbers worked out."""

from math import ceil

import pytest
from policy_world import HEAD, LIBRARY, one, policy, replicas, served, tick

from adapter.core.policy_reading import read_policies
from adapter.core.problems import Problem, Severity

REPLICAS = "  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}\n"


def problems_of(inputs: str, terms: str) -> list[Problem]:
    spec = f"{REPLICAS}  inputs: {{{inputs}}}\n  terms: {{{terms}}}\n  publish: {{metric: m}}\n"
    _, problems = read_policies(HEAD + spec, "p.yaml", LIBRARY)
    return [one for one in problems if one.code in ("idle-share", "idle-runaway", "amount", "value-range")]


VLLM = "flight: {preset: vllm/requests-in-flight}, "
BATCH = "batch: {concurrency: flight, per_replica: 10}, "


def test_72_of_80_gib_at_a_target_of_80_percent_is_refused_with_its_number() -> None:
    inputs = VLLM.replace("vllm", "triton") + 'vram: {preset: dcgm/vram-used-ratio, match: {pod: "~d-.*"}, idle: 90%}'
    (problem,) = problems_of(inputs, BATCH + "memory: {utilization: vram, target: 80%}")
    assert (problem.code, problem.severity) == ("idle-runaway", Severity.ERROR)
    # 72 ÷ 80 = 0.9; 0.9 ÷ 0.8 = 1.125
    assert "asks for 0.9 ÷ 0.8 (vram: idle as declared) = 1.125 replicas, so the loop never settles" in problem.message


def test_such_a_loop_goes_from_1_to_32_in_17_syncs_without_load() -> None:
    # Nobody says what is idle here, so it loads. Each replica shows 0.9: N replicas are answered by N × 1.125, and the
    # HPA takes the next whole number: 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 20, 23, 26, 30, 32 (its maximum).
    spec = REPLICAS + (
        "  inputs: {vram: {query: vram, unit: ratio}}\n"
        "  terms: {memory: {utilization: vram, target: 80%}}\n  publish: {metric: m}\n"
    )
    loaded, n, seen = policy(spec), 1, [1]
    while n < 32:
        world = [*(one("vram", 0.9, pod=f"d-{place}") for place in range(n)), *replicas(n, n)]
        text = served(loaded, tick(loaded, world))
        wanted = int(text[:-1]) / 1000 if text.endswith("m") else int(text)
        n = min(32, ceil(wanted))
        seen.append(n)
    assert seen == [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 15, 17, 20, 23, 26, 30, 32]
    assert len(seen) - 1 == 17


@pytest.mark.parametrize(
    ("inputs", "term", "code", "worked"),
    [
        # 0.9 by vLLM's own default, over the target 0.7
        (
            'vram: {preset: dcgm/vram-used-ratio, match: {pod: "~d-.*"}}',
            "{utilization: vram, target: 70%}",
            "idle-runaway",
            "0.9 ÷ 0.7 (vram: vllm takes 90% at its start) = 1.286",
        ),
        # told that it takes 5 % only: 0.05 ÷ 0.7 = 0.071, not above 0.1
        (
            'vram: {preset: dcgm/vram-used-ratio, match: {pod: "~d-.*"}, idle: 5%}',
            "{utilization: vram, target: 70%}",
            None,
            "",
        ),
        # base 0: 0.9 × 80 GiB ÷ (80 - 0 - 8) GiB = 72 ÷ 72 = 1
        (
            'vram: {preset: dcgm/vram-used, match: {pod: "~d-.*"}}',
            "{headroom: vram, base: 0, capacity: 80GiB, keep_free: 8GiB}",
            "idle-runaway",
            "= 1 replicas, so the loop never settles",
        ),
        # the base is what an idle replica uses
        (
            'vram: {preset: dcgm/vram-used, match: {pod: "~d-.*"}}',
            "{headroom: vram, base: 72GiB, capacity: 80GiB, keep_free: 2GiB}",
            None,
            "",
        ),
        # (66 - 50) ÷ (80 - 50 - 8) = 16 ÷ 22 = 0.727; 1 ÷ (1 - 0.727) = 3.67
        (
            'vram: {preset: dcgm/vram-used, match: {pod: "~d-.*"}, idle: 66GiB}',
            "{headroom: vram, base: 50GiB, capacity: 80GiB, keep_free: 8GiB}",
            "idle-share",
            "= 0.727 replicas, so the loop settles at 3.67 times",
        ),
        # 2 requests of a health check over 10: 0.2; 1 ÷ 0.8 = 1.25
        (
            "probes: {query: in_flight, unit: count, idle: 2}",
            "{concurrency: probes, per_replica: 10}",
            "idle-share",
            "2 ÷ 10 (probes: idle as declared) = 0.2 replicas, so the loop settles at 1.25 times",
        ),
        # 1 over 10 is 0.1, which is not above 0.1
        ("probes: {query: in_flight, unit: count, idle: 1}", "{concurrency: probes, per_replica: 10}", None, ""),
        # 9 over 10 is refused: ten times what the load needs
        (
            "probes: {query: in_flight, unit: count, idle: 9}",
            "{concurrency: probes, per_replica: 10}",
            "idle-runaway",
            "settles at 10 times what the load needs",
        ),
    ],
    ids=["engine", "small", "base-0", "base", "between", "probes", "at-0.1", "at-0.9"],
)
def test_the_share_is_computed_from_what_is_declared(inputs: str, term: str, code: str | None, worked: str) -> None:
    found = problems_of(VLLM + inputs, BATCH + f"t: {term}")
    assert [one.code for one in found] == ([code] if code else [])
    assert all(worked in one.message for one in found)


def test_memory_of_an_engine_that_nobody_knows_is_warned_of_without_a_number() -> None:
    inputs = VLLM.replace("vllm", "triton") + 'vram: {preset: dcgm/vram-used-ratio, match: {pod: "~d-.*"}}'
    (problem,) = problems_of(inputs, BATCH + "memory: {utilization: vram, target: 70%}")
    assert (problem.code, problem.severity) == ("idle-share", Severity.WARNING)
    assert "is not known" in problem.message


@pytest.mark.parametrize(("idle", "code"), [("much", "amount"), ("-1", "value-range")])
def test_what_is_no_amount_is_refused_with_its_place(idle: str, code: str) -> None:
    (problem,) = problems_of(f"q: {{query: q, unit: count, idle: {idle}}}", "t: {concurrency: q, per_replica: 10}")
    assert problem.code == code
    assert "spec.inputs.q.idle" in problem.message
