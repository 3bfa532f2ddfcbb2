"""Makes an exporter's pods, and Prometheus' targets, follow a real Deployment in a cluster.

It is the kubelet, the service discovery and kube-state-metrics of the tests at once: reads the API, writes the state.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from cluster import Cluster
from inference_exporter import InferenceExporter
from inference_metrics import Pod
from prometheus_process import PrometheusProcess


class DeploymentFollower:
    """Keeps an exporter's pods, and Prometheus' targets, as the real Deployment in a cluster has them."""

    def __init__(self, exporter: InferenceExporter, cluster: Cluster, prometheus: PrometheusProcess) -> None:
        self._exporter, self._cluster, self._prometheus = exporter, cluster, prometheus
        self.replicas_seen: list[int] = []
        """`spec.replicas` at each change, oldest first."""
        self.failures: list[str] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="deployment-follower", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._end.set()
        self._thread.join(15)

    def _run(self) -> None:
        while not self._end.wait(0.2):
            try:
                self._look()
            except (AssertionError, OSError) as error:  # told to the test, which fails on it if it cares
                self.failures.append(str(error))
                del self.failures[:-10]

    def _look(self) -> None:
        workload = self._exporter.workload
        deployment = self._cluster.deployment(workload.namespace, workload.deployment)
        replicas = deployment["spec"]["replicas"]
        if self.replicas_seen[-1:] != [replicas]:
            self.replicas_seen.append(replicas)
        for autoscaler in self._cluster.autoscalers(workload.namespace):
            if autoscaler["metadata"]["name"] == workload.deployment and "desiredReplicas" in autoscaler["status"]:
                self._exporter.set_desired_replicas(autoscaler["status"]["desiredReplicas"])
        found = {
            pod["metadata"]["name"]: is_ready(pod)
            for pod in self._cluster.pods(workload.namespace, f"app={workload.deployment}")
            if "deletionTimestamp" not in pod["metadata"]
        }
        known = {pod.name: pod for pod in workload.pods}
        pods = [
            replace(known.get(name, Pod(name, is_ready=False)), is_ready=ready) for name, ready in sorted(found.items())
        ]
        self._exporter.set_pods(*pods, spec_replicas=replicas)
        if known.keys() != found.keys():
            self._prometheus.set_targets("vllm", self._exporter.pod_targets())


def is_ready(pod: dict[str, Any]) -> bool:
    conditions: Sequence[dict[str, str]] = pod.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
