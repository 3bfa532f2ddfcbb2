"""The JSON Schema and the language reference: what they say of a policy is what `check` says of it."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from adapter_process import SCALEPROOF
from jsonschema import Draft202012Validator
from policy_world import LIBRARY
from pydantic import BaseModel

from adapter.core.documents import read_documents
from adapter.core.policy import Policy
from adapter.core.policy_reading import read_policies
from adapter.core.problems import has_errors
from adapter.core.reference_page import PARTS

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "policies/schema.json").read_text())
VALIDATOR = Draft202012Validator(SCHEMA)

GOOD = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: q, namespace: prod}
spec:
  replicas: {preset: kube/deployment-replicas, match: {deployment: q}}
  inputs:
    queue: {query: queue_depth, unit: count}
    gpu: {preset: dcgm/engine-active, match: {pod: "~q-.*"}}
    ttft: {preset: vllm/time-to-first-token, quantile: 0.95, window: 2m}
  capacity: {rate_per_replica: 4.4/s, cold_start: 2m}
  terms:
    batch: {concurrency: queue, per_replica: 10}
    compute: {utilization: gpu, target: 70%}
    slow: {latency: ttft, objective: 2s}
  publish: {metric: q-replicas}
"""


def plain(text: str) -> Any:
    documents, _ = read_documents(text, "p.yaml")
    return documents[0].value


def yaml_blocks(page: Path) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


def run(*arguments: str) -> str:
    return subprocess.run([SCALEPROOF, *arguments], capture_output=True, text=True, timeout=60, check=True).stdout


def test_the_schema_is_a_schema_and_the_file_is_what_the_command_writes() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert run("schema") == (ROOT / "policies/schema.json").read_text(), "run make generated"


def test_the_reference_is_what_the_command_writes() -> None:
    assert run("schema", "--output", "markdown") == (ROOT / "docs/reference.md").read_text(), "run make generated"


SHOWN = [
    *((ROOT / name).read_text() for name in ("policies/llama-70b.yaml", "policies/llama-8b.yaml")),
    (ROOT / "tests/policy/llama-70b.yaml").read_text(),
    *yaml_blocks(ROOT / "README.md"),
    *yaml_blocks(ROOT / "docs/policy.md"),
    *(
        text.partition("---\n")[0]
        for page in sorted((ROOT / "docs/lints").glob("*.md"))
        for text in yaml_blocks(page)
        if text.startswith("apiVersion")
    ),
]


@pytest.mark.parametrize("text", SHOWN, ids=lambda text: text[:0] or None)
def test_every_policy_that_is_shown_is_valid_by_the_schema(text: str) -> None:
    assert [error.message for error in VALIDATOR.iter_errors(plain(text))] == []


# Each is refused by both: (what stands in GOOD, what to write instead).
REFUSED = {
    "unknown-key": ("per_replica: 10", "per_replica: 10, limit: 4"),
    "missing-key": (", target: 70%", ""),
    "no-source": ("query: queue_depth, ", ""),
    "two-sources": ("query: queue_depth", "query: queue_depth, preset: dcgm/engine-active"),
    "no-rule": ("concurrency: queue, ", ""),
    "two-rules": ("concurrency: queue", "concurrency: queue, utilization: gpu"),
    "bare-percent": ("target: 70%", "target: 70"),
    "negative": ("per_replica: 10", "per_replica: -1"),
    "zero": ("per_replica: 10", "per_replica: 0"),
    "bare-duration": ("objective: 2s", "objective: 2"),
    "no-duration": ("objective: 2s", "objective: soon"),
    "unit": ("unit: count", "unit: pounds"),
    "preset": ("preset: dcgm/engine-active", "preset: dcgm/engine-actives"),
    "name": ("name: q,", "name: Q_1,"),
    "missing-word": ("unit: count", "unit: count, missing: ignore"),
    "missing-two": ("unit: count", "unit: count, missing: {hold: 1m, assume: 0}"),
    "missing-none": ("unit: count", "unit: count, missing: {scale_down: allowed}"),
    "input-name": ("    gpu: {preset", "    9gpu: {preset"),
    "kind": ("kind: ScalingPolicy", "kind: Policy"),
    "publish-as": ("{metric: q-replicas}", "{metric: q-replicas, as: pods}"),
    "one-direction": ("target: 70%", "target: {up: 70%}"),
    "guard-two-causes": ("  publish:", "  guards: [{hold_scale_down: {after: xid, when: gpu > 1}}]\n  publish:"),
    "guard-no-cause": ("  publish:", "  guards: [{hold_scale_down: {for: 5m}}]\n  publish:"),
    "combine-two": ("  publish:", "  combine: {weighted: {batch: 1}, expression: batch}\n  publish:"),
    "shape": ("per_replica: 10", "per_replica: 10, shape: {up: {window: 1m}}"),
    "schedule": ("{metric: q-replicas}", "{metric: q, schedule: [{cron: 0 8 * * *, for: 1h}]}"),
    "quantile": ("quantile: 0.95", "quantile: 95"),
    "rate": ("4.4/s", "4.4 per second"),
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED.keys())
def test_what_check_refuses_by_its_form_the_schema_refuses_too(change: tuple[str, str]) -> None:
    assert change[0] in GOOD
    text = GOOD.replace(*change)
    assert has_errors(read_policies(text, "p.yaml", LIBRARY)[1])
    assert not VALIDATOR.is_valid(plain(text))


ACCEPTED = {
    "as-it-is": ("", ""),
    "share-as-number": ("target: 70%", "target: 0.7"),
    "two-targets": ("target: 70%", "target: {up: 70%, down: 0.6}"),
    "rate-per-minute": ("4.4/s", "264/m"),
    "long-duration": ("cold_start: 2m", "cold_start: 1m30s"),
    "by-list": ("  replicas:", "  by: [model_name]\n  replicas:"),
    "by-values": ("  replicas:", "  by: {model_name: [a, b], zone: }\n  replicas:"),
    "missing-word": ("unit: count", "unit: count, missing: error"),
    "missing-hold": ("unit: count", "unit: count, missing: {hold: 1m, scale_down: allowed}"),
    "missing-assume": ("unit: count", "unit: count, missing: {assume: 0}"),
    "no-offset": ("  replicas:", "  offset: 0\n  replicas:"),
    "shape": ("per_replica: 10", "per_replica: 10, shape: {up: {sustained: 30s}, down: {window: 2m, take: 0.9}}"),
    "stability": (
        "  publish:",
        "  stability: {hysteresis: {down: {replicas: 1, share: 10%}}, step: {up: 50%}}\n  publish:",
    ),
    "schedule": ("{metric: q-replicas}", "{metric: q, schedule: [{cron: 0 8 * * *, for: 1h, floor: 2}]}"),
    "weighted": ("  publish:", "  combine: {weighted: {batch: 1, compute: 2, slow: 1}}\n  publish:"),
    "annotations": ("namespace: prod}", 'namespace: prod, annotations: {team: "a"}}'),
}


@pytest.mark.parametrize("change", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_what_check_accepts_in_its_forms_the_schema_accepts_too(change: tuple[str, str]) -> None:
    assert change[0] in GOOD
    text = GOOD.replace(*change) if change[0] else GOOD
    assert not has_errors(read_policies(text, "p.yaml", LIBRARY)[1]), read_policies(text, "p.yaml", LIBRARY)[1]
    assert [error.message for error in VALIDATOR.iter_errors(plain(text))] == []


def fields(node: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(node, dict):
        for key, value in node.get("properties", {}).items():
            yield f"{path}.{key}", value
        for key, value in node.items():
            yield from fields(value, f"{path}.{key}")


def test_every_field_of_the_schema_has_a_description_and_none_shows_a_null_or_a_mark_of_ours() -> None:
    named = {path: field for path, field in fields(SCHEMA) if "anyOf" not in path and "oneOf" not in path}
    assert len(named) > 100
    assert [path for path, field in named.items() if "description" not in field] == []
    text = json.dumps(SCHEMA)
    assert '"null"' not in text.replace('{"type": "null"}]}}', "", 1)  # a label of by may have no values
    assert "x-allowed" not in text


def models(model: type[BaseModel], seen: set[str]) -> set[str]:
    names = set(model.model_json_schema()["$defs"]) - {"Unit"}
    return {*seen, model.__name__, *names}


def test_the_reference_has_a_part_for_every_model() -> None:
    assert set(PARTS) == models(Policy, set())


BASE = {
    "replicas": {"preset": "kube/deployment-replicas", "match": {"deployment": "chat"}},
    "inputs": {
        "arrivals": {"preset": "vllm/request-arrivals"},
        "waiting": {"preset": "vllm/requests-waiting"},
        "flight": {"preset": "vllm/requests-in-flight"},
        "kv": {"preset": "vllm/kv-cache-usage"},
        "gpu": {"preset": "dcgm/engine-active"},
        "vram": {"preset": "dcgm/vram-used"},
        "ttft": {"preset": "vllm/time-to-first-token", "quantile": 0.95, "window": "2m"},
    },
    "capacity": {"rate_per_replica": "4.4/s", "cold_start": "2m"},
    "terms": {
        "load": {"throughput": "arrivals"},
        "batch": {"concurrency": "flight", "per_replica": 10},
        "compute": {"utilization": "gpu", "target": "70%"},
    },
    "publish": {"metric": "chat-replicas"},
}
EXAMPLES = [text for text in yaml_blocks(ROOT / "docs/reference.md") if not text.startswith("#")]


@pytest.mark.parametrize("text", EXAMPLES, ids=[text.partition(":")[0] + str(i) for i, text in enumerate(EXAMPLES)])
def test_each_example_of_the_reference_is_a_part_of_a_good_policy(text: str) -> None:
    part = plain(text)
    spec = {**BASE, **part, "inputs": {**BASE["inputs"], **part.get("inputs", {})}}
    document = {
        "apiVersion": "scaleproof.dev/v1alpha1",
        "kind": "ScalingPolicy",
        "metadata": {"name": "chat", "namespace": "prod"},
        "spec": spec,
    }
    assert [error.message for error in VALIDATOR.iter_errors(document)] == []
    loaded, problems = read_policies(json.dumps(document), "p.json", LIBRARY)
    assert len(loaded) == 1, problems
