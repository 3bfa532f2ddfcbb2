"""The whole way in one piece: exporters, Prometheus, the adapter, the aggregator, the HPA, a Deployment."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from string import Template
from typing import Any

import pytest
from adapter_process import METRICS_PATH, AdapterProcess
from child_process import eventually
from cluster import ADAPTER_NAMESPACE, Cluster
from deployment_follower import DeploymentFollower
from inference_exporter import InferenceExporter
from prometheus_process import Job, PrometheusProcess, Target
from workloads import autoscaler, deployment

BASE = Path(__file__).parents[2] / "manifests/base"
POLICIES = Path(__file__).parent / "policies"
NAME = "llama"
METRIC = "llama-replicas"


@dataclass
class Story:
    """Deployment `llama` in a namespace of its own, scaled by a real HPA on the adapter's metric."""

    cluster: Cluster
    namespace: str
    exporter: InferenceExporter
    prometheus: PrometheusProcess
    adapter: AdapterProcess
    follower: DeploymentFollower

    @property
    def replicas(self) -> int:
        wanted: int = self.cluster.deployment(self.namespace, NAME)["spec"]["replicas"]
        return wanted

    def wait_for_ready(self, replicas: int) -> None:
        """Wait until so many replicas are wanted, ready and scraped."""

        def has_come() -> bool:
            status = self.cluster.deployment(self.namespace, NAME)
            return status["spec"]["replicas"] == replicas and status["status"].get("readyReplicas") == replicas

        eventually(has_come, f"{replicas} replicas of {NAME} are ready; the adapter says {self.explained()}", 60)
        self.prometheus.wait_for("count(vllm:num_requests_running)", replicas)

    def explained(self) -> str:
        return str(self.adapter.explain())[:2000]

    def metric(self) -> tuple[int, dict[str, Any]]:
        """Status and body of the metric, through the aggregator."""
        response = self.cluster.response(f"{METRICS_PATH}/{self.namespace}/{METRIC}")
        return response.status_code, response.json()

    def scaling_active(self) -> dict[str, str]:
        """The HPA's condition that tells whether it could work out a number of replicas."""
        conditions = self.cluster.autoscaler(self.namespace, NAME)["status"].get("conditions", [])
        return next((each for each in conditions if each["type"] == "ScalingActive"), {})


def write_policies(folder: Path, template: str, namespace: str) -> Path:
    """Write one of the policies beside this file for a namespace; return the folder that the adapter reads."""
    folder.mkdir()
    text = Template((POLICIES / template).read_text()).substitute(namespace=namespace)
    (folder / template).write_text(text)
    return folder


@pytest.fixture
def policies_of(tmp_path: Path) -> Callable[[str, str], Path]:
    """Return a folder with one of this folder's policies, made for a namespace."""
    return lambda template, namespace: write_policies(tmp_path / "policies", template, namespace)


@pytest.fixture
def adapter_kubeconfig(cluster: Cluster) -> Path:
    """The way to the API server of an adapter with the ServiceAccount and the rights of manifests/base, no others."""
    files = [f"--filename={BASE / name}" for name in ("namespace.yaml", "service-account.yaml", "rbac.yaml")]
    cluster.kubectl("apply", *files)
    return cluster.service_account_kubeconfig(ADAPTER_NAMESPACE, "scaleproof")


@pytest.fixture
def start_story(
    cluster: Cluster, adapter_kubeconfig: Path, tmp_path: Path, policies_of: Callable[[str, str], Path]
) -> Iterator[Callable[[str, int], Story]]:
    """Start a story in a namespace, with one replica and so many requests in flight."""
    with ExitStack() as stack:

        def start(namespace: str, in_flight: int) -> Story:
            stack.enter_context(cluster.namespace(namespace))
            cluster.apply(deployment(NAME, load_time="6s"), namespace=namespace)
            exporter = InferenceExporter(namespace, NAME, "llama-70b")
            stack.callback(exporter.close)
            exporter.set_load(in_flight, batch_size=8)
            prometheus = PrometheusProcess(tmp_path, [*exporter.jobs(), Job("scaleproof", honor_labels=True)])
            stack.callback(prometheus.close)
            follower = DeploymentFollower(exporter, cluster, prometheus)
            stack.callback(follower.close)
            adapter = AdapterProcess(
                tmp_path,
                policies_of("in-flight.yaml", namespace),
                prometheus.url,
                cluster.serving,
                cluster.authority.certificate_file,
                flags=[f"--kubeconfig={adapter_kubeconfig}"],
                bind_address="127.0.0.1" if cluster.host == "localhost" else "0.0.0.0",
            )
            stack.callback(adapter.close)
            adapter.wait_ready()
            prometheus.set_targets("scaleproof", [Target(adapter.metrics_url.removeprefix("http://"))])
            cluster.register_adapter(adapter.port)
            stack.callback(cluster.unregister_adapter)
            story = Story(cluster, namespace, exporter, prometheus, adapter, follower)
            eventually(lambda: story.metric()[0] == 200, "the metric is served through the aggregator", 60)
            cluster.apply(autoscaler(NAME, METRIC), namespace=namespace)
            return story

        yield start
