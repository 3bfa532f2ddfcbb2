"""The Deployment of manifests/base as it stands starts a working adapter: arguments, mounts, probes, rights."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from adapter_process import METRICS_PATH, SCALEPROOF
from child_process import ChildProcess, eventually, free_port
from cluster import Cluster

pytestmark = pytest.mark.slow

BASE = Path(__file__).parents[2] / "manifests/base"
Write = Callable[[dict[str, str]], None]


def mount_config_map(folder: Path) -> Write:
    """Return a writer of files in the kubelet's way: a new folder with a time in its name, and a link that moves."""
    folder.mkdir()
    versions = iter(range(100))

    def write(files: dict[str, str]) -> None:
        data = folder / f"..2026_01_01_00_00_00.{next(versions)}"
        data.mkdir()
        for name, text in files.items():
            (data / name).write_text(text)
            if not (folder / name).is_symlink():
                (folder / name).symlink_to(f"..data/{name}")
        moved = folder / "..data_tmp"
        moved.symlink_to(data.name)
        moved.rename(folder / "..data")
        for link in folder.iterdir():
            if link.is_symlink() and not link.exists():
                link.unlink()

    return write


class Container:
    """The Deployment's one container as a process of this machine."""

    def __init__(self, specification: dict[str, Any], cluster: Cluster, kubeconfig: Path, folder: Path) -> None:
        self.specification = specification
        self.https = f"https://localhost:{free_port()}"
        self.metrics = f"http://127.0.0.1:{free_port()}"
        self.write_policies = mount_config_map(folder / "policies")
        self._cluster = cluster
        self._kubeconfig = kubeconfig
        self._folder = folder

    def start(self) -> ChildProcess:
        here = {
            "/etc/scaleproof/policies": str(self._folder / "policies"),
            "/etc/scaleproof/tls/tls.crt": str(self._cluster.serving.certificate),
            "/etc/scaleproof/tls/tls.key": str(self._cluster.serving.key),
            "http://prometheus-operated.monitoring.svc:9090": f"http://127.0.0.1:{free_port()}",
            "6443": self.https.rpartition(":")[2],
            ":8080": ":" + self.metrics.rpartition(":")[2],
        }
        given = self.specification["args"]
        assert set(here) <= set(given), "the test replaces what only a Pod has, and keeps the rest"
        # A Pod finds the API server by its ServiceAccount's files; a process is told.
        arguments = [SCALEPROOF, *(here.get(each, each) for each in given), f"--kubeconfig={self._kubeconfig}"]
        return ChildProcess(arguments, self._folder / "container.log")

    def get(self, path: str, token: str = "") -> requests.Response:
        """GET over HTTPS without a client certificate, as probes and users do."""
        with requests.Session() as session:
            session.trust_env = False
            session.verify = str(self._cluster.authority.certificate_file)
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            return session.get(f"{self.https}{path}", headers=headers, timeout=10)

    def probe(self, kind: str) -> int:
        return self.get(self.specification[kind]["httpGet"]["path"]).status_code

    def policies(self) -> set[str]:
        """The names of the policies that are in force."""
        with requests.Session() as session:
            session.trust_env = False
            signals = session.get(f"{self.metrics}/explain", timeout=5).json()["signals"]
            return {each["policy"] for each in signals}


@pytest.fixture
def container(cluster: Cluster, adapter_kubeconfig: Path, tmp_path: Path) -> Iterator[Container]:
    deployment = yaml.safe_load((BASE / "deployment.yaml").read_text())
    with ExitStack() as stack:
        made = Container(deployment["spec"]["template"]["spec"]["containers"][0], cluster, adapter_kubeconfig, tmp_path)
        made.write_policies({"llama-70b.yaml": (BASE / "policies/llama-70b.yaml").read_text()})
        child = made.start()
        stack.callback(child.kill)
        child.wait_for_line("ready https://", 60)
        yield made


def test_the_deployments_arguments_start_an_adapter_that_its_probes_find_alive_and_ready(container: Container) -> None:
    """Prometheus cannot be reached here, which makes no pod unready: a metric says so, a restart would not help."""
    assert [container.probe(kind) for kind in ("startupProbe", "livenessProbe")] == [200, 200]
    eventually(lambda: container.probe("readinessProbe") == 200, "the pod is ready")


def test_each_policy_of_a_mounted_config_map_is_read_once_and_a_change_is_taken_up(container: Container) -> None:
    """The kubelet's mount shows each file three times: under ..2026…, under ..data and by its name."""
    eventually(lambda: container.policies() == {"llama-70b"}, "the shipped policy is in force")
    example = (BASE / "policies/llama-70b.yaml").read_text()
    other = example.replace("llama-70b", "mistral")
    container.write_policies({"llama-70b.yaml": example, "mistral.yaml": other})
    eventually(lambda: container.policies() == {"llama-70b", "mistral"}, "the added policy is in force", 60)
    container.write_policies({"mistral.yaml": other})
    eventually(lambda: container.policies() == {"mistral"}, "the removed policy is gone", 60)


def test_the_adapters_rights_suffice_to_ask_who_a_token_is_and_what_it_may(
    cluster: Cluster, container: Container
) -> None:
    """No token: 403 for the anonymous user. A wrong one: 401. A ServiceAccount's: 403, until a role lets it list the
    metric; then the answer is the metric's own, 503 here without Prometheus."""
    with cluster.namespace("readers") as namespace:
        token = cluster.service_account_token(namespace, "default")
        path = f"{METRICS_PATH}/inference/llama-70b-replicas"
        assert container.get(path).status_code == 403
        assert container.get(path, "wrong").status_code == 401
        assert container.get(path, token).status_code == 403

        cluster.apply(*allow_listing("llama-70b-replicas", namespace), namespace="inference")
        eventually(lambda: container.get(path, token).status_code == 503, "the right is seen", 60)


def allow_listing(metric: str, reader_namespace: str) -> list[dict[str, Any]]:
    """The namespace, role and binding that let ServiceAccount `default` of another namespace read one metric."""
    rule = {"apiGroups": ["external.metrics.k8s.io"], "resources": [metric], "verbs": ["list"]}
    group = "rbac.authorization.k8s.io"
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "inference"}},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": {"name": "read-metric"}, "rules": [rule]},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "read-metric"},
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "read-metric"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": reader_namespace}],
        },
    ]
