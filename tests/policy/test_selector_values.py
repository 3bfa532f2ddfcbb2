"""HPA selectors with values that Kubernetes cannot carry, and own queries that count a card or a dead pod twice."""

import pytest
from policy_world import HEAD, LIBRARY

from adapter.core.policy_reading import read_policies
from sim.policy_hpa_lints import lint_together

POLICY = HEAD + (
    "  by: [model_name]\n  inputs: {q: {query: waiting, unit: count}}\n"
    "  terms: {t: {concurrency: q, per_replica: 1}}\n  publish: {metric: queue, as: total, sum: true}\n"
)
HPA = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: d, namespace: prod}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: d}}
  maxReplicas: 8
  metrics:
  - type: External
    external:
      metric:
        name: queue
        selector:
          {selector}
      target: {{type: AverageValue, averageValue: "1"}}
"""
MODEL = "meta-llama/Llama-3.1-8B-Instruct"


def found(selector: str) -> list[tuple[str, str, int, str]]:
    loaded, _ = read_policies(POLICY, "p.yaml", LIBRARY)
    problems = lint_together(loaded, HPA.format(selector=selector), "h.yaml", "1.36")
    code = "selector-value-not-expressible"
    return [(one.code, str(one.severity), one.position.line, one.fix) for one in problems if one.code == code]


@pytest.mark.parametrize(
    "selector",
    [
        f"matchLabels: {{model_name: {MODEL}}}",
        f"matchExpressions: [{{key: model_name, operator: In, values: [other, {MODEL}]}}]",
    ],
    ids=["labels", "expressions"],
)
def test_a_value_with_a_slash_is_an_error_with_the_alias_as_its_fix(selector: str) -> None:
    fix = "write meta-llama__Llama-3.1-8B-Instruct, as the group is served"
    assert found(selector) == [("selector-value-not-expressible", "error", 13, fix)]


@pytest.mark.parametrize("value", ["chat", "x" * 63, "a.b_c-d", '""'])
def test_what_a_label_can_have_is_no_problem(value: str) -> None:
    assert found(f"matchLabels: {{model_name: {value}}}") == []


def test_a_value_of_64_characters_is_too_long() -> None:
    assert len(found(f"matchLabels: {{model_name: {'x' * 64}}}")) == 1


def lints_of(query: str) -> set[str]:
    spec = (
        f"  inputs: {{q: {{query: '{query}', freshness: DCGM_FI_DEV_FB_USED, unit: ratio, per: []}}}}\n"
        "  terms: {t: {utilization: q, target: 70%}}\n  publish: {metric: m}\n"
    )
    _, problems = read_policies(HEAD + spec, "p.yaml", LIBRARY)
    return {one.code for one in problems} & {"gpu-counted-twice", "frozen-series"}


@pytest.mark.parametrize(
    ("query", "codes"),
    [
        ("sum(DCGM_FI_PROF_GR_ENGINE_ACTIVE)", {"gpu-counted-twice"}),
        ("avg by (exported_pod) (DCGM_FI_PROF_GR_ENGINE_ACTIVE)", {"gpu-counted-twice"}),
        ("sum(gpu_gfx_activity) / 100", {"gpu-counted-twice"}),
        ("sum(max by (UUID, GPU_I_ID) (DCGM_FI_PROF_GR_ENGINE_ACTIVE))", set()),
        ("max(DCGM_FI_PROF_GR_ENGINE_ACTIVE)", set()),
        ("sum(vllm:num_requests_waiting)", set()),
        ("sum(inference_pool_per_pod_queue_size)", {"frozen-series"}),
        (
            'sum(llm_d_epp_per_endpoint_queue_size and on (pod) kube_pod_status_ready{condition="true"} == 1)',
            set(),
        ),
    ],
)
def test_own_queries_that_add_what_is_told_twice_or_is_gone_are_warned_of(query: str, codes: set[str]) -> None:
    assert lints_of(query.replace("'", "''")) == codes


def test_the_preset_whose_exporter_keeps_dead_pods_is_warned_of_too() -> None:
    spec = (
        "  inputs: {q: {preset: endpoint-picker/requests-waiting, match: {name: chat}}}\n"
        "  terms: {t: {backlog: q, drain: 2m, rate_per_replica: 4/s}}\n  publish: {metric: m}\n"
    )
    _, problems = read_policies(HEAD + spec, "p.yaml", LIBRARY)
    assert "frozen-series" in {one.code for one in problems}
