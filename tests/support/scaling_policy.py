"""A ScalingPolicy as an object: its text, what a cluster shows of it, and its conditions."""

from typing import Any

import yaml
from cluster import Cluster

PATH = "/apis/scaleproof.dev/v1alpha1"


def policy_object(name: str, namespace: str = "prod", per_replica: object = 10, metric: str | None = None) -> str:
    """A policy that asks for `load ÷ per_replica` each second."""
    return f"""\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  every: 1s
  memory: 10s
  offset: 2s
  scrape_interval: 1s
  inputs:
    queue: {{query: load, unit: count}}
  terms:
    batch: {{concurrency: queue, per_replica: {per_replica}}}
  publish: {{metric: {metric or name}}}
"""


def put(cluster: Cluster, *texts: str, namespace: str = "prod") -> None:
    """Apply them with kubectl."""
    cluster.apply(*texts, namespace=namespace)


def get(cluster: Cluster, name: str, namespace: str = "prod") -> dict[str, Any]:
    return cluster.get(f"{PATH}/namespaces/{namespace}/scalingpolicies/{name}")


def condition(item: dict[str, Any], kind: str) -> tuple[str, str, str]:
    """Status, reason and message of a condition; empty where there is none."""
    for one in item.get("status", {}).get("conditions", []):
        if one["type"] == kind:
            return one["status"], one["reason"], one["message"]
    return "", "", ""


def item(
    name: str, generation: int = 1, *, bad: bool = False, created: str = "2026-01-01T00:00:00Z", **more: Any
) -> Any:
    found = yaml.safe_load(policy_object(name, metric=more.pop("metric", None)))
    found["metadata"] |= {"uid": f"uid-{name}", "generation": generation, "creationTimestamp": created}
    if bad:
        found["spec"]["evry"] = "1s"
    return {**found, **more}
