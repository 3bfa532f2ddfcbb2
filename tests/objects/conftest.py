"""An adapter with the rights of manifests/base, its policies as objects of a real API server, and a fake Prometheus."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from adapter_process import AdapterProcess
from cluster import ADAPTER_NAMESPACE, Cluster
from control_plane import ControlPlane
from fake_prometheus import FakePrometheus, answering, fake_prometheus

BASE = Path(__file__).parents[2] / "manifests/base"
Start = Callable[..., AdapterProcess]


@pytest.fixture
def prometheus() -> Iterator[FakePrometheus]:
    with fake_prometheus(answering(70)) as running:
        yield running


@pytest.fixture(scope="session")
def kubeconfig(cluster: Cluster) -> Path:
    """The way to the API server of the adapter's account, where the CustomResourceDefinition and its rights are."""
    files = ("namespace.yaml", "service-account.yaml", "rbac.yaml", "crd.yaml")
    cluster.kubectl("apply", *(f"--filename={BASE / name}" for name in files))
    cluster.kubectl("wait", "--for=condition=Established", "crd/scalingpolicies.scaleproof.dev", "--timeout=30s")
    return cluster.service_account_kubeconfig(ADAPTER_NAMESPACE, "scaleproof")


@pytest.fixture
def start(cluster: Cluster, tmp_path: Path, prometheus: FakePrometheus) -> Iterator[Start]:
    """Start an adapter by the kubeconfig given, with a policy folder or without."""
    with ExitStack() as stack:

        def run(kubeconfig: Path, policies: Path | None = None, *flags: str, name: str = "adapter") -> AdapterProcess:
            mode = [] if policies else ["--scaling-policies=true"]
            flags = (f"--kubeconfig={kubeconfig}", *mode, *flags)
            ca_file = cluster.authority.certificate_file
            adapter = AdapterProcess(
                tmp_path, policies, prometheus.url, cluster.serving, ca_file, flags=flags, name=name
            )
            stack.callback(adapter.close)
            adapter.wait_ready()
            return adapter

        yield run


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A control plane that a test may stop and start."""
    folder = tmp_path / "cluster"
    folder.mkdir()
    control_plane = ControlPlane(folder)
    try:
        cluster = Cluster(control_plane.kubeconfig, folder, control_plane.authority, 2)
    except BaseException:
        control_plane.stop()
        raise
    cluster.control_plane = control_plane
    yield cluster
    cluster.stop()
