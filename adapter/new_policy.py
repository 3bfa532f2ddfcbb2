"""The texts that `scaleproof new` writes: a policy for one workload and the HPA that goes with it.

Pure: answers in, texts out. What an engine offers is read from the presets; both texts pass `check --hpa` without a
warning, which a test holds for every engine.
"""

import re
from dataclasses import dataclass

from adapter.core.presets import PresetLibrary, Take
from adapter.core.units import show_duration

_POLICY = """\
# Requests in flight are what a replica holds, and no batch size bounds them. Before you use it, measure per_replica:
# requests in flight at 80 % of one replica's best throughput.
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  every: {every}
  scrape_interval: {scrape_interval}
  replicas: {{preset: kube/deployment-replicas, match: {{deployment: {deployment}}}}}
  inputs:
{inputs}
  capacity: {{{capacity}}}
  terms:
{terms}
  combine: max
  publish: {{metric: {metric}, as: replicas, floor: {minimum}, ceiling: {maximum}}}
"""

_HPA = """\
# The metric is the number of replicas wanted, so the target is one "unit" per replica; the policy decides what is worth
# a change.
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  scaleTargetRef: {{apiVersion: apps/v1, kind: Deployment, name: {deployment}}}
  minReplicas: {minimum}
  maxReplicas: {maximum}
  metrics:
  - type: External
    external:
      metric: {{name: {metric}}}
      target: {{type: AverageValue, averageValue: "1"}}
  behavior:
    scaleUp:
{tolerance}      stabilizationWindowSeconds: 0
      policies:
      - {{type: Percent, value: 100, periodSeconds: 15}}
      - {{type: Pods, value: 4, periodSeconds: 15}}
    scaleDown:
{tolerance}      stabilizationWindowSeconds: 300
"""


_SAFE = re.compile(r"[a-z][a-z0-9-]*")
_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")


@dataclass(frozen=True, slots=True)
class Answers:
    """What one asks of somebody who starts; durations as a policy writes them."""

    name: str
    namespace: str
    deployment: str
    engine: str
    model: str
    per_replica: float
    rate_per_replica: float | None
    cold_start: str
    scrape_seconds: float
    minimum: int
    maximum: int
    has_tolerance: bool


def engines(library: PresetLibrary) -> list[str]:
    """The families of presets that tell requests in flight."""
    inputs, _ = library.names()
    return sorted(name.partition("/")[0] for name in inputs if name.endswith("/requests-in-flight"))


def inputs_of(answers: Answers, library: PresetLibrary) -> dict[str, str]:
    """The inputs by name and the engine's presets that give them, so far as it has them."""
    inputs = {"flight": "requests-in-flight"}
    has = library.input
    if answers.rate_per_replica is not None and has(f"{answers.engine}/request-arrivals") is not None:
        inputs["arrivals"] = "request-arrivals"
    if has(f"{answers.engine}/kv-cache-usage") is not None:
        inputs["kv"] = "kv-cache-usage"
    return inputs


def policy_text(answers: Answers, library: PresetLibrary) -> str:
    """The policy."""
    match = f"match: {{model_name: {quoted(answers.model)}}}" if answers.model else f"match: {{pod: {_pods(answers)}}}"
    inputs = inputs_of(answers, library)
    terms = [f"batch: {{concurrency: flight, per_replica: {answers.per_replica:g}}}"]
    if "arrivals" in inputs:
        terms.append("load:  {throughput: arrivals, share: 80%}")
    if "kv" in inputs:
        terms.append("cache: {headroom: kv, keep_free: {up: 35%, down: 45%}}")
    lines = [
        f"    {key + ':':<9} {{preset: {answers.engine}/{preset}, {match}{_ages(answers, preset, library)}}}"
        for key, preset in inputs.items()
    ]
    capacity = [f"cold_start: {answers.cold_start}"]
    if answers.rate_per_replica is not None:
        capacity.insert(0, f"rate_per_replica: {answers.rate_per_replica:g}/s")
    return _POLICY.format(
        name=plain(answers.name),
        metric=plain(f"{answers.name}-replicas"),
        namespace=plain(answers.namespace),
        deployment=plain(answers.deployment),
        every=show_duration(max(1.0, answers.scrape_seconds)),
        scrape_interval=show_duration(answers.scrape_seconds),
        inputs="\n".join(lines),
        capacity=", ".join(capacity),
        terms="\n".join(f"    {term}" for term in terms),
        minimum=answers.minimum,
        maximum=answers.maximum,
    )


def _ages(answers: Answers, preset: str, library: PresetLibrary) -> str:
    """What a scrape interval other than the usual 15 s needs: four scrapes of arrivals, two before data is stale."""
    seconds = answers.scrape_seconds
    found = library.input(f"{answers.engine}/{preset}")
    takes_window = found is not None and any(one.take in (Take.RATE, Take.CHANGE) for one in found.series.values())
    window = f", window: {show_duration(4 * seconds)}" if takes_window and seconds > 15 else ""
    return window + (f", max_age: {show_duration(2 * seconds)}" if seconds > 30 else "")


def _pods(answers: Answers) -> str:
    return quoted(f"~{answers.deployment}-.*")


def plain(text: str) -> str:
    """A YAML text as it stands, or in quotes where a reader could take it for something else: 123, on, 1e3."""
    is_safe = _SAFE.fullmatch(text) is not None and text not in _WORDS
    return text if is_safe else quoted(text)


def quoted(text: str) -> str:
    """A YAML text in double quotes."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def hpa_text(answers: Answers) -> str:
    """The HPA."""
    return _HPA.format(
        name=plain(answers.name),
        metric=plain(f"{answers.name}-replicas"),
        namespace=plain(answers.namespace),
        deployment=plain(answers.deployment),
        minimum=answers.minimum,
        maximum=answers.maximum,
        tolerance='      tolerance: "0"\n' if answers.has_tolerance else "",
    )
