"""The samples of preset families and what is expected of them, and an input of a preset read from any answers.

`policies/presets/samples/README.md` says what the two files of a family hold. Knows no server: answers are given to it.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from adapter.bundled import load_presets, policies_folder
from adapter.core.input_plans import InputPlan
from adapter.core.plans import PolicyPlan, plan_policy
from adapter.core.policy import Policy
from adapter.core.readings import read_input
from adapter.core.samples import Answer, Sample, Series, labels_of
from adapter.core.series_readings import Reading

SAMPLES = policies_folder() / "presets" / "samples"
LIBRARY = load_presets()
FAMILIES = sorted(path.stem for path in (policies_folder() / "presets").glob("*.yaml"))
SPAN_SECONDS = 60.0
"""From the first scrape of a sample to the second, which is "now"."""


@dataclass(frozen=True)
class Expected:
    """What one preset makes of its family's sample: numbers by pod (events as words), and reasons of bad pods."""

    name: str
    pods: Mapping[str, float | str]
    bad: Mapping[str, str] = field(default_factory=dict)
    input: Mapping[str, Any] = field(default_factory=dict)


def expected_file(family: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((SAMPLES / f"{family}.expected.yaml").read_text())
    assert found["family"] == family
    return found


def expected_of(family: str) -> list[Expected]:
    """A histogram's one value is of all pods together: its pod has no name."""
    return [
        Expected(
            f"{family}/{name}",
            said["pods"] if "pods" in said else {"": said["total"]},
            said.get("bad", {}),
            said.get("input", {}),
        )
        for name, said in expected_file(family)["presets"].items()
    ]


def scrapes(family: str) -> tuple[list[tuple[dict[str, str], float]], list[tuple[dict[str, str], float]]]:
    """The first and the second scrape: labels, the name among them, and value."""
    first, second = [], []
    # Without their types, since the parser gives the counters that lack a _total one.
    lines = [line for line in sample_file(family).read_text().splitlines() if not line.startswith("#")]
    for metric in text_string_to_metric_families("\n".join(lines) + "\n"):
        for sample in metric.samples:
            one = ({**sample.labels, "__name__": sample.name}, float(sample.value))
            (first if sample.timestamp == 0 else second).append(one)
    return first, second


def exposition(scrape: list[tuple[dict[str, str], float]], at: float) -> str:
    """A scrape as text that carries its time, so that Prometheus stores it under that."""
    lines = []
    for labels, value in scrape:
        inner = ",".join(f'{name}="{text}"' for name, text in labels.items() if name != "__name__")
        lines.append(f"{labels['__name__']}{{{inner}}} {value!r} {round(at * 1000)}")
    return "\n".join(lines) + "\n"


def series_of(family: str, now: float) -> list[Series]:
    """The sample as series whose last sample is of now."""
    found: dict[tuple[tuple[str, str], ...], list[Sample]] = defaultdict(list)
    for scrape, at in zip(scrapes(family), (now - SPAN_SECONDS, now), strict=True):
        for labels, value in scrape:
            found[labels_of(labels)].append(Sample(value, at))
    return [Series(labels, tuple(samples)) for labels, samples in found.items()]


def plan_of(
    inputs: Mapping[str, Any], replicas: Mapping[str, Any] | None = None, namespace: str = "prod"
) -> PolicyPlan:
    """The plan of a policy with these inputs; its term is of no interest."""
    spec: dict[str, Any] = {"inputs": inputs, "terms": {"t": {"expression": "1"}}, "publish": {"metric": "m"}}
    if replicas is not None:
        spec["replicas"] = replicas
    document = {
        "apiVersion": "scaleproof.dev/v1alpha1",
        "kind": "ScalingPolicy",
        "metadata": {"name": "p", "namespace": namespace},
        "spec": spec,
    }
    return plan_policy(Policy.model_validate(document), LIBRARY)


Ask = Callable[[str, bool], Answer]
"""Answers a query of a plan; the flag says whether it is a selector that wants the policy's range."""


def input_plan(expected: Expected) -> tuple[PolicyPlan, InputPlan]:
    plan = plan_of({"x": {"preset": expected.name, **expected.input}})
    return plan, plan.inputs["x"]


def check_reading(expected: Expected, reading: Reading, now: float, approximately: Callable[[float], object]) -> None:
    """The reading has the pods expected, each with its number or its reason."""
    assert reading.failure is None, reading.failure
    values = {"/".join(entity): measured.value for entity, measured in reading.values.items()}
    words = {"never": 0.0, "0 s ago": now}
    wanted = {
        str(pod): approximately(words[value] if isinstance(value, str) else value)
        for pod, value in expected.pods.items()
    }
    assert values == wanted
    assert {"/".join(entity): str(missing.reason) for entity, missing in reading.bad.items()} == dict(expected.bad)


def read(plan: PolicyPlan, one: InputPlan, ask: Ask, now: float) -> Reading:
    answers = {query: ask(query, is_raw) for query, is_raw in plan.queries}
    return read_input(one, answers, now).of((), one.name)


def read_replicas(
    name: str, match: Mapping[str, str], ask: Callable[[PolicyPlan], Ask], now: float
) -> tuple[float, float, list[str]]:
    """N, the number of ready pods and their names, by a preset for replicas."""
    plan = plan_of({"x": {"preset": "kube/pods-pending"}}, {"preset": name, "match": match})
    replicas = plan.replicas
    assert replicas is not None
    assert replicas.ready is not None
    assert replicas.pods is not None
    asking = ask(plan)
    spec, ready, pods = (read(plan, one, asking, now).values for one in (replicas.spec, replicas.ready, replicas.pods))
    (wanted,), (number,) = spec.values(), ready.values()
    return wanted.value, number.value, sorted(pod for (pod,), is_ready in pods.items() if is_ready.value > 0)


def sample_file(family: str) -> Path:
    return SAMPLES / f"{family}.prom"
