"""Manifests of the workload that the real-cluster tests scale: a Deployment of pods that KWOK plays, and its HPA."""

from typing import Any

from cluster import NODE

Manifest = dict[str, Any]


def deployment(name: str, replicas: int = 1, load_time: str = "1s") -> Manifest:
    """A Deployment on the fake GPU node, whose pods are ready `load_time` after their creation."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}, "annotations": {"tests.scaleproof.dev/load-time": load_time}},
                # The node is named, since there is no scheduler; nobody pulls the image.
                "spec": {"nodeName": NODE, "containers": [{"name": "server", "image": "none"}]},
            },
        },
    }


def autoscaler(name: str, metric: str, max_replicas: int = 20) -> Manifest:
    """An HPA that follows a metric of replicas at once in both directions: no tolerance, no windows."""
    at_once = {
        "tolerance": "0",
        "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Percent", "value": 1000, "periodSeconds": 1}],
    }
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 1,
            "maxReplicas": max_replicas,
            "metrics": [
                {
                    "type": "External",
                    "external": {
                        "metric": {"name": metric},
                        "target": {"type": "AverageValue", "averageValue": "1"},
                    },
                }
            ],
            "behavior": {
                "scaleUp": at_once,
                "scaleDown": {**at_once, "policies": [{"type": "Percent", "value": 100, "periodSeconds": 1}]},
            },
        },
    }
