"""What a test does with a Kubernetes cluster: kubectl, plain reads, tokens, fake GPU nodes and the adapter's place.

Works on the control plane that `control_plane.py` starts, and on the cluster that KUBECONFIG_E2E names (kind, a real
one); it knows the difference only where it must: who signs certificates, how often the HPA looks, how the cluster
reaches this machine.
"""

import base64
import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from certificate_files import Authority
from child_process import ChildProcess, eventually, free_port
from control_plane import ControlPlane, binary, start_kwok

ADAPTER_NAMESPACE = "scaleproof-system"
ADAPTER_SERVICE = "scaleproof"
API_SERVICE = "v1beta1.external.metrics.k8s.io"
NODE = "scaleproof-test-gpu-0"
NODE_MANIFEST = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": NODE, "annotations": {"kwok.x-k8s.io/node": "fake"}},
    "spec": {"unschedulable": True},  # pods of others stay away from it; the tests' pods name it
}


class Cluster:
    """A cluster under test, as its administrator sees it."""

    def __init__(
        self, kubeconfig: Path, folder: Path, authority: Authority, hpa_sync_seconds: float, host: str = "localhost"
    ) -> None:
        self.kubeconfig = kubeconfig
        self.folder = folder
        self.hpa_sync_seconds = hpa_sync_seconds
        self.host = host
        """The name or address by which the cluster reaches this machine."""
        self.authority = authority
        """Signs the adapter's serving certificate; the APIService's caBundle is its."""
        self.serving = authority.issue(
            "serving",
            f"{ADAPTER_SERVICE}.{ADAPTER_NAMESPACE}.svc",
            names=("localhost", "127.0.0.1", f"{ADAPTER_SERVICE}.{ADAPTER_NAMESPACE}.svc"),
        )
        self.control_plane: ControlPlane | None = None
        port = free_port()
        self._proxy = f"http://127.0.0.1:{port}"
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy of the machine between a test and 127.0.0.1
        self.processes = [
            start_kwok(kubeconfig, folder),
            ChildProcess(
                [binary(), "kubectl", f"--kubeconfig={kubeconfig}", "proxy", f"--port={port}"], folder / "proxy.log"
            ),
        ]
        try:
            self.processes[1].wait_until(lambda: self.response("/version").ok, "kubectl proxy answers")
            self.apply(NODE_MANIFEST)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self._session.close()
        for child in self.processes:
            child.kill()
        if self.control_plane:
            self.control_plane.stop()

    def kubectl(self, *arguments: str, input: str | None = None) -> str:
        """Run kubectl as administrator and return what it printed; an error carries kubectl's words."""
        finished = subprocess.run(
            [str(binary()), "kubectl", f"--kubeconfig={self.kubeconfig}", *arguments],
            input=input,
            capture_output=True,
            text=True,
            timeout=60,
        )
        if finished.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {finished.returncode}\n{finished.stderr}")
        return finished.stdout

    def apply(self, *documents: dict[str, Any] | str, namespace: str = "default") -> str:
        """Apply manifests, given as text or as data."""
        texts = [each if isinstance(each, str) else json.dumps(each) for each in documents]
        return self.kubectl("apply", f"--namespace={namespace}", "-f", "-", input="\n---\n".join(texts))

    def response(self, path: str, accept: str = "application/json") -> requests.Response:
        """GET a path of the API server as administrator; aggregated ones reach the adapter through the aggregator."""
        return self._session.get(f"{self._proxy}{path}", headers={"Accept": accept}, timeout=10)

    def get(self, path: str) -> dict[str, Any]:
        """GET an object or a list that must exist."""
        response = self.response(path)
        if not response.ok:
            raise AssertionError(f"GET {path}: {response.status_code} {response.text[:500]}")
        document: dict[str, Any] = response.json()
        return document

    def deployment(self, namespace: str, name: str) -> dict[str, Any]:
        return self.get(f"/apis/apps/v1/namespaces/{namespace}/deployments/{name}")

    def autoscaler(self, namespace: str, name: str) -> dict[str, Any]:
        return self.get(f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers/{name}")

    def autoscalers(self, namespace: str) -> list[dict[str, Any]]:
        path = f"/apis/autoscaling/v2/namespaces/{namespace}/horizontalpodautoscalers"
        items: list[dict[str, Any]] = self.get(path)["items"]
        return items

    def pods(self, namespace: str, selector: str = "") -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = self.get(f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}")["items"]
        return items

    @contextmanager
    def namespace(self, name: str) -> Iterator[str]:
        """A namespace for one test; its deletion is asked for, and waited for by the next test that wants the name."""

        def is_free() -> bool:
            phase = ("get", "namespace", name, "--ignore-not-found", "--output=jsonpath={.status.phase}")
            return self.kubectl(*phase) != "Terminating"

        eventually(is_free, f"no namespace {name} is being deleted", 60)
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        try:
            yield name
        finally:
            self.kubectl("delete", "namespace", name, "--wait=false", "--ignore-not-found")

    def service_account_token(self, namespace: str, name: str) -> str:
        """Return a fresh token of a ServiceAccount, which may be about to be made by its controller."""

        def token() -> str | None:
            try:
                return self.kubectl("create", "token", name, f"--namespace={namespace}", "--duration=1h").strip()
            except AssertionError:
                return None

        return eventually(token, f"a token for ServiceAccount {namespace}/{name}", every_seconds=0.2)

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """Return a kubeconfig with a fresh token of a ServiceAccount: what a pod of it may do, and no more."""
        token = self.service_account_token(namespace, name)
        document = json.loads(self.kubectl("config", "view", "--raw", "--minify", "--flatten", "--output=json"))
        document["users"] = [{"name": document["users"][0]["name"], "user": {"token": token}}]
        path = self.folder / f"{namespace}.{name}.kubeconfig"
        path.write_text(json.dumps(document))
        return path

    def register_adapter(self, port: int) -> None:
        """Send the external metrics API to a port of this machine, and wait until the aggregator finds it there."""
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": ADAPTER_SERVICE, "namespace": ADAPTER_NAMESPACE},
            "spec": {"type": "ExternalName", "externalName": self.host, "ports": [{"port": port}]},
        }
        api_service = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": API_SERVICE},
            "spec": {
                "group": "external.metrics.k8s.io",
                "version": "v1beta1",
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "caBundle": base64.b64encode(self.authority.certificate_file.read_bytes()).decode(),
                "service": {"name": ADAPTER_SERVICE, "namespace": ADAPTER_NAMESPACE, "port": port},
            },
        }
        # A Service of another type keeps a clusterIP, which an ExternalName may not have: so replace, not apply.
        self.kubectl("delete", "service", ADAPTER_SERVICE, f"--namespace={ADAPTER_NAMESPACE}", "--ignore-not-found")
        self.apply(service, api_service, namespace=ADAPTER_NAMESPACE)
        self.wait_available()

    def wait_available(self) -> None:
        self.kubectl("wait", f"apiservice/{API_SERVICE}", "--for=condition=Available", "--timeout=50s")

    def unregister_adapter(self) -> None:
        self.kubectl("delete", "apiservice", API_SERVICE, "--ignore-not-found")


def start_cluster(folder: Path, hpa_sync_seconds: float = 2) -> Cluster:
    """Start a cluster in `folder`, or reach the one that KUBECONFIG_E2E names."""
    named = os.environ.get("KUBECONFIG_E2E")
    if named:
        # The HPA's default period; one signs the adapter's certificate oneself, the cluster's CA key is not at hand.
        return Cluster(Path(named).resolve(), folder, Authority("serving-ca", folder), 15, own_address(Path(named)))
    control_plane = ControlPlane(folder, hpa_sync_seconds)
    try:
        cluster = Cluster(control_plane.kubeconfig, folder, control_plane.authority, hpa_sync_seconds)
    except BaseException:
        control_plane.stop()
        raise
    cluster.control_plane = control_plane
    return cluster


def own_address(kubeconfig: Path) -> str:
    """The address of this machine as the cluster may see it: that of the route to its API server, or the one given."""
    override = os.environ.get("KUBECONFIG_E2E_HOST")
    if override:
        return override
    view = subprocess.run(
        [str(binary()), "kubectl", f"--kubeconfig={kubeconfig}", "config", "view", "--minify", "--output=json"],
        capture_output=True,
        check=True,
        timeout=60,
    )
    server = urlsplit(json.loads(view.stdout)["clusters"][0]["cluster"]["server"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as route:
        route.connect((server.hostname, server.port or 443))  # sends nothing: a datagram socket only picks its route
        address: str = route.getsockname()[0]
        return address
