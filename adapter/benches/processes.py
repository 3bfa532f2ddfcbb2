"""The processes of the bench "serve": the adapter, its stub upstreams and the floor, started, measured and ended.

CPU time and memory are read from /proc, so the bench runs on Linux.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from adapter.benches.credentials import FRONT_PROXY, Credentials

START_SECONDS = 60.0
NAMESPACE = "bench"
METRICS_PATH = f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{NAMESPACE}"

_POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {{name: {name}, namespace: bench}}
spec:
  every: {every}
  memory: {memory}
  by: [model_name]
  inputs: {{load: {{query: bench_load, unit: count, per: [instance]}}}}
  terms: {{queue: {{concurrency: load, per_replica: 10}}}}
  publish: {{metric: {name}}}
"""


def policy_text(name: str, every: str, memory: str) -> str:
    """A policy of one input, a group for each model."""
    return _POLICY.format(name=name, every=every, memory=memory)


class BenchError(RuntimeError):
    """Nothing can be measured; the message says why."""


class Child:
    """A process under measurement."""

    def __init__(self, arguments: Sequence[str | Path], log: Path) -> None:
        self._log = log
        with log.open("wb") as output:
            command = [str(argument) for argument in arguments]
            self._process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)  # noqa: S603 - our own

    def wait_for_line(self, start: str) -> str:
        """The rest of the first line that begins so."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            lines = self._log.read_text(errors="replace").splitlines(keepends=True)
            for line in lines:
                if line.startswith(start) and line.endswith("\n"):
                    return line.removeprefix(start).strip()
            time.sleep(0.05)
        raise BenchError(
            f"no line {start!r} of a process of the bench:\n{self._log.read_text(errors='replace')[-2000:]}"
        )

    def cpu_seconds(self) -> float:
        """User and system time of all its threads."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mib(self) -> float:
        """The most memory it has held so far."""
        return self._memory_mib("VmHWM:")

    def current_rss_mib(self) -> float:
        """The memory it holds now."""
        return self._memory_mib("VmRSS:")

    def _memory_mib(self, what: str) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(status.partition(what)[2].split()[0]) / 1024

    def end(self) -> None:
        """Kill it; nothing of it is wanted any more."""
        self._process.kill()
        self._process.wait(10)


@dataclass(frozen=True, slots=True)
class Served:
    """A server that is up, and what to ask it for."""

    child: Child
    port: int
    paths: tuple[str, ...]
    metrics_url: str = ""
    policies: Path = Path()


@contextmanager
def running_adapter(
    folder: Path, credentials: Credentials, signals: int, policies: int, every: str = "15s", memory: str = "10m"
) -> Iterator[Served]:
    """`scaleproof serve` with so many policies, each of so many signals, evaluated so often."""
    work = folder / f"adapter-{signals}-{policies}-{every}"
    (work / "policies").mkdir(parents=True)
    names = [f"queue-{number}" for number in range(policies)]
    for name in names:
        (work / "policies" / f"{name}.yaml").write_text(policy_text(name, every, memory))
    upstreams = Child([sys.executable, "-m", "adapter.benches.upstreams", str(signals)], work / "upstreams.log")
    adapter = None
    try:
        url = f"http://127.0.0.1:{upstreams.wait_for_line('ready ')}"
        adapter = Child(_serve_command(work, url, credentials), work / "adapter.log")
        port = int(adapter.wait_for_line("ready https://").rpartition(":")[2])
        selectors = [quote(f"model_name=model-{number}") for number in range(signals)]
        paths = tuple(f"{METRICS_PATH}/{name}?labelSelector={selector}" for name in names for selector in selectors)
        yield Served(adapter, port, paths, adapter.wait_for_line("metrics "), work / "policies")
    finally:
        for child in (adapter, upstreams):
            if child is not None:
                child.end()


def _serve_command(work: Path, url: str, credentials: Credentials) -> list[str | Path]:
    kubeconfig = work / "kubeconfig"
    kubeconfig.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "current-context": "bench",
                "clusters": [{"name": "bench", "cluster": {"server": url}}],
                "users": [{"name": "bench", "user": {"token": "bench"}}],
                "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
            }
        )
    )
    return [
        sys.executable,
        "-m",
        "adapter",
        "serve",
        f"--policies={work / 'policies'}",
        f"--prometheus={url}",
        f"--kubeconfig={kubeconfig}",
        "--bind-address=127.0.0.1",
        "--secure-port=0",
        "--metrics-bind-address=127.0.0.1:0",
        f"--tls-cert-file={credentials.serving.certificate}",
        f"--tls-private-key-file={credentials.serving.key}",
        f"--client-ca-file={credentials.authority}",
        f"--requestheader-client-ca-file={credentials.authority}",
        f"--requestheader-allowed-names={FRONT_PROXY}",
    ]


@contextmanager
def running_floor(folder: Path, credentials: Credentials, body: bytes) -> Iterator[Served]:
    """aiohttp with the body ready."""
    file = folder / "body"
    file.write_bytes(body)
    pair = credentials.serving
    command: list[str | Path] = [sys.executable, "-m", "adapter.benches.floor", pair.certificate, pair.key, file]
    child = Child(command, folder / "floor.log")
    try:
        yield Served(child, int(child.wait_for_line("ready ")), (METRICS_PATH,))
    finally:
        child.end()
