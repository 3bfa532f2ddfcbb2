"""The adapter as a process, as an operator runs it: started, asked like the aggregator asks, killed, started again.

Knows only its command line and the wire (`scaleproof serve` of the built wheel); nothing of its insides.
"""

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests
from certificate_files import Authority, KeyPair
from child_process import ChildProcess, free_port

SCALEPROOF = Path(sys.executable).parent / "scaleproof"
METRICS_PATH = "/apis/external.metrics.k8s.io/v1beta1/namespaces"
READY_SECONDS = 60


class FrontProxy:
    """The identity of the aggregator for adapters that run without a cluster."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.serving_authority = Authority("serving-ca", folder)
        self.serving = self.serving_authority.issue("serving", "scaleproof.scaleproof-system.svc")
        self.authority = Authority("front-proxy-ca", folder)
        self.certificate = self.authority.issue("front-proxy", "front-proxy-client", names=())

    @property
    def flags(self) -> list[str]:
        """What a cluster would say in its extension-apiserver-authentication ConfigMap, and in its access reviews."""
        return [
            "--authorization-mode=AlwaysAllow",
            f"--client-ca-file={self.serving_authority.certificate_file}",
            f"--requestheader-client-ca-file={self.authority.certificate_file}",
            "--requestheader-allowed-names=front-proxy-client",
        ]


class AdapterProcess:
    """A `scaleproof serve`; its ports stay the same over a restart, so that a cluster finds it again."""

    def __init__(
        self,
        folder: Path,
        policies: Path | None,
        prometheus_url: str,
        serving: KeyPair,
        ca_file: Path,
        *,
        client: KeyPair | None = None,
        flags: Sequence[str] = (),
        bind_address: str = "127.0.0.1",
        name: str = "adapter",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.port = free_port()
        self.metrics_url = f"http://127.0.0.1:{free_port()}"
        self.url = f"https://localhost:{self.port}"
        self._log = folder / f"{name}.log"
        self._environment = environment
        self._arguments: list[str | Path] = [
            SCALEPROOF,
            "serve",
            *([f"--policies={policies}"] if policies else []),
            f"--prometheus={prometheus_url}",
            f"--bind-address={bind_address}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={serving.certificate}",
            f"--tls-private-key-file={serving.key}",
            f"--metrics-bind-address={self.metrics_url.removeprefix('http://')}",
            *flags,
        ]
        self._session = requests.Session()
        self._session.trust_env = False  # REQUESTS_CA_BUNDLE of the machine would win over `verify` here
        self._session.verify = str(ca_file)
        if client:
            self._session.cert = client.files
        self.child = self.launch()

    def launch(self) -> ChildProcess:
        """Start the program without waiting for anything (first start, and after `kill` or `stop`)."""
        self._log_start = self._log.stat().st_size if self._log.exists() else 0
        self.child = ChildProcess(self._arguments, self._log, self._environment)
        return self.child

    def wait_ready(self) -> None:
        """Wait for the line `ready https://HOST:PORT`."""
        line = self.child.wait_for_line("ready https://", READY_SECONDS, self._log_start)
        if not re.fullmatch(rf"ready https://\S+:{self.port}", line.strip()):
            raise AssertionError(f"the adapter was told to use port {self.port} and says {line!r}")

    def kill(self) -> None:
        """SIGKILL: nothing that the adapter would like to write down is written."""
        self.child.kill()

    def stop(self) -> int:
        """SIGTERM; return the exit status."""
        return self.child.stop(20)

    def close(self) -> None:
        self._session.close()
        self.child.kill()

    def get(self, path: str, user: str = "system:kube-aggregator", group: str = "system:masters") -> requests.Response:
        """GET a path as the aggregator passes a user's request on."""
        headers = {"X-Remote-User": user, "X-Remote-Group": group, "Accept": "application/json"}
        return self._session.get(f"{self.url}{path}", headers=headers, timeout=10)

    def metric(self, namespace: str, name: str, selector: str = "") -> requests.Response:
        query = f"?labelSelector={quote(selector)}" if selector else ""
        return self.get(f"{METRICS_PATH}/{namespace}/{name}{query}")

    def own_metrics(self) -> str:
        return self._session.get(f"{self.metrics_url}/metrics", timeout=10).text

    def log(self) -> str:
        """All that it has written so far."""
        return self._log.read_text()

    def explain(self) -> list[dict[str, Any]]:
        """Every signal as the adapter explains it: its tick `t`, its value, the reason where there is none."""
        response = self._session.get(f"{self.metrics_url}/explain", timeout=10)
        response.raise_for_status()
        signals: list[dict[str, Any]] = response.json()["signals"]
        return signals
