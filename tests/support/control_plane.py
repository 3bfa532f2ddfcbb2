"""A real Kubernetes control plane on loopback: etcd, kube-apiserver, kube-controller-manager and KWOK as processes.

Knows how to start and end them; what tests do with a cluster is `cluster.py`'s. Every server gets a port of its own and
binds to 127.0.0.1, so that several sessions run side by side on one machine.
"""

import json
from pathlib import Path

import requests
from certificate_files import Authority, KeyPair
from child_process import ChildProcess, free_port

REPOSITORY = Path(__file__).parents[2]
BINARY = REPOSITORY / "build/controlplane"
STAGES = REPOSITORY / "tests/controlplane/stages.yaml"

CONTROLLERS = (
    "horizontal-pod-autoscaler-controller,deployment-controller,replicaset-controller,serviceaccount-controller,"
    "namespace-controller,garbage-collector-controller,clusterrole-aggregation-controller"
)
"""What a scaled Deployment needs; no scheduler, pods name their node."""

APISERVER = 1
"""Its place among the processes: after etcd."""

KWOK_NODES = "kwok.x-k8s.io/node=fake"
"""Only nodes with this annotation are KWOK's, so that in a cluster with real nodes those are left alone."""


def binary() -> Path:
    if not BINARY.exists():
        raise FileNotFoundError(f"{BINARY} is missing: run `make build/controlplane` (needs Go, cold 5 minutes)")
    return BINARY


def write_kubeconfig(path: Path, server: str, authority: Path, user: dict[str, str]) -> Path:
    """Write a kubeconfig with one cluster and one user; JSON is YAML."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "test", "cluster": {"server": server, "certificate-authority": str(authority)}}],
        "users": [{"name": path.stem, "user": user}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": path.stem}}],
        "current-context": "test",
    }
    path.write_text(json.dumps(document))
    return path


def start_kwok(kubeconfig: Path, folder: Path) -> ChildProcess:
    """Start what plays kubelet for the annotated nodes, as `stages.yaml` tells."""
    return ChildProcess(
        [
            binary(),
            "kwok",
            f"--kubeconfig={kubeconfig}",
            "--manage-all-nodes=false",
            f"--manage-nodes-with-annotation-selector={KWOK_NODES}",
            f"--config={STAGES}",
            f"--server-address=127.0.0.1:{free_port()}",
        ],
        folder / "kwok.log",
    )


class ControlPlane:
    """The processes of one cluster, and the files that identify its parts to each other."""

    def __init__(self, folder: Path, hpa_sync_seconds: float = 2) -> None:
        self.folder = folder
        self.authority = Authority("ca", folder)
        self.front_proxy_authority = Authority("front-proxy-ca", folder)
        self.front_proxy = self.front_proxy_authority.issue("front-proxy", "front-proxy-client", names=())
        self._service_accounts = self.authority.issue("service-accounts", "service-accounts", names=())
        self._apiserver_port = free_port()
        self.server = f"https://127.0.0.1:{self._apiserver_port}"
        admin = self.authority.issue("admin", "admin", "system:masters", names=())
        self.kubeconfig = self._kubeconfig("admin", admin)
        self.processes: list[ChildProcess] = []
        try:
            self._start(admin, hpa_sync_seconds)
        except BaseException:
            self.stop()
            raise

    def _kubeconfig(self, name: str, pair: KeyPair) -> Path:
        user = {"client-certificate": str(pair.certificate), "client-key": str(pair.key)}
        path = self.folder / f"{name}.kubeconfig"
        return write_kubeconfig(path, self.server, self.authority.certificate_file, user)

    def _run(self, program: str, *flags: str) -> ChildProcess:
        child = ChildProcess([binary(), program, *flags], self.folder / f"{program}.log")
        self.processes.append(child)
        return child

    def _start(self, admin: KeyPair, hpa_sync_seconds: float) -> None:
        etcd = f"http://127.0.0.1:{free_port()}"
        peers = f"http://127.0.0.1:{free_port()}"
        self._run(
            "etcd",
            f"--data-dir={self.folder / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={etcd}",
            f"--advertise-client-urls={etcd}",
            f"--listen-peer-urls={peers}",
        )
        self._admin = admin
        self._run("kube-apiserver", *self._apiserver_flags(etcd))
        self._wait_for_apiserver()
        # Before that the controllers would end: they ask who may read the authentication ConfigMap when they start.
        controllers = self.authority.issue("controllers", "system:kube-controller-manager", names=())
        kubeconfig = self._kubeconfig("controllers", controllers)
        self._run(
            "kube-controller-manager",
            f"--kubeconfig={kubeconfig}",
            f"--authentication-kubeconfig={kubeconfig}",
            f"--authorization-kubeconfig={kubeconfig}",
            f"--service-account-private-key-file={self._service_accounts.key}",
            "--use-service-account-credentials",
            f"--root-ca-file={self.authority.certificate_file}",
            f"--cert-dir={self.folder / 'controllers-certificates'}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={free_port()}",
            f"--horizontal-pod-autoscaler-sync-period={hpa_sync_seconds}s",
            f"--controllers={CONTROLLERS}",
        )

    def stop_apiserver(self) -> None:
        """End the API server alone; etcd keeps what there is."""
        self.processes[APISERVER].kill()

    def start_apiserver(self) -> None:
        """Start it again as it was, and wait for it."""
        before = self.processes[APISERVER]
        self.processes[APISERVER] = ChildProcess(before.arguments, before.log)
        self._wait_for_apiserver()

    def _wait_for_apiserver(self) -> None:
        with requests.Session() as session:
            session.trust_env = False  # REQUESTS_CA_BUNDLE of the machine would win over `verify` here
            session.cert, session.verify = self._admin.files, str(self.authority.certificate_file)
            self.processes[APISERVER].wait_until(
                lambda: session.get(f"{self.server}/readyz", timeout=5).ok, "kube-apiserver is ready", 60
            )

    def _apiserver_flags(self, etcd: str) -> list[str]:
        serving = self.authority.issue("apiserver", "kube-apiserver")
        return [
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            f"--secure-port={self._apiserver_port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--client-ca-file={self.authority.certificate_file}",
            f"--requestheader-client-ca-file={self.front_proxy_authority.certificate_file}",
            "--requestheader-allowed-names=front-proxy-client",
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
            "--requestheader-extra-headers-prefix=X-Remote-Extra-",
            f"--proxy-client-cert-file={self.front_proxy.certificate}",
            f"--proxy-client-key-file={self.front_proxy.key}",
            f"--service-account-key-file={self._service_accounts.certificate}",
            f"--service-account-signing-key-file={self._service_accounts.key}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=RBAC",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--endpoint-reconciler-type=none",  # it would publish 127.0.0.1, which the API server itself refuses
        ]

    def stop(self) -> None:
        """Kill all at once: the cluster's data is thrown away, and an orderly end of an API server takes seconds."""
        for child in reversed(self.processes):
            child.kill()
