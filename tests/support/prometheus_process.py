"""A real Prometheus for a test: its own port and data, targets that may change while it runs, an outage on demand.

Knows nothing of what is scraped. Needs Debian's `prometheus` on PATH (`make packages`).
"""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import requests
import yaml
from child_process import ChildProcess, eventually, free_port


@dataclass(frozen=True)
class Target:
    """One scrape target: where it listens, under which path, and the labels that service discovery would give it."""

    address: str
    path: str = "/metrics"
    labels: dict[str, str] = field(default_factory=dict)


@dataclass
class Job:
    """A scrape job. Its targets may change later through `PrometheusProcess.set_targets`."""

    name: str
    targets: Sequence[Target] = ()
    honor_labels: bool = False
    relabeling: Sequence[dict[str, Any]] = ()
    """`relabel_configs`, as Prometheus writes them."""
    metric_relabeling: Sequence[dict[str, Any]] = ()


class PrometheusProcess:
    """A Prometheus on 127.0.0.1 that keeps its port and data over `stop` and `start`."""

    def __init__(self, folder: Path, jobs: Sequence[Job], scrape_interval: str = "1s") -> None:
        executable = shutil.which("prometheus")
        if executable is None:
            raise FileNotFoundError("`prometheus` is not on PATH: run `make packages`")
        self.folder = folder
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._session = requests.Session()
        self._session.trust_env = False  # no proxy of the machine between a test and 127.0.0.1
        self._child: ChildProcess | None = None
        for job in jobs:
            self.set_targets(job.name, job.targets)
        configuration = folder / "prometheus.yml"
        configuration.write_text(yaml.safe_dump(self._configuration(jobs, scrape_interval)))
        self._arguments: list[str | Path] = [
            executable,
            f"--config.file={configuration}",
            f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        self.start()

    def _configuration(self, jobs: Sequence[Job], scrape_interval: str) -> dict[str, Any]:
        return {
            "global": {"scrape_interval": scrape_interval, "scrape_timeout": scrape_interval},
            "scrape_configs": [
                {
                    "job_name": job.name,
                    "honor_labels": job.honor_labels,
                    "file_sd_configs": [{"files": [str(self._targets_file(job.name))]}],
                    "relabel_configs": list(job.relabeling),
                    "metric_relabel_configs": list(job.metric_relabeling),
                }
                for job in jobs
            ],
        }

    def _targets_file(self, job: str) -> Path:
        return self.folder / f"targets-{job}.json"

    def set_targets(self, job: str, targets: Sequence[Target]) -> None:
        """Change a job's targets; Prometheus takes a change up within 5 s, as it does for any service discovery."""
        groups = [
            {"targets": [each.address], "labels": {**each.labels, "__metrics_path__": each.path}} for each in targets
        ]
        path = self._targets_file(job)
        partial = path.with_suffix(".new")
        partial.write_text(json.dumps(groups))
        partial.rename(path)  # Prometheus must never read half a file

    def start(self) -> None:
        """Start, and wait until queries are answered."""
        self._child = ChildProcess(self._arguments, self.folder / "prometheus.log")
        self._child.wait_until(lambda: self._get("/-/ready").ok, "Prometheus is ready")

    def stop(self) -> None:
        """Stop in an orderly way, so that the data survives; afterwards the port refuses connections."""
        if self._child:
            self._child.stop()

    def close(self) -> None:
        """End it for good and at once."""
        self._session.close()
        if self._child:
            self._child.kill()

    def _get(self, path: str, **parameters: str | float) -> requests.Response:
        return self._session.get(f"{self.url}{path}", params=parameters, timeout=10)

    def query(self, expression: str, time: float | None = None) -> list[tuple[dict[str, str], float]]:
        """Answer an instant query as (labels, value) of each series, in Prometheus' own order."""
        response = self._get("/api/v1/query", query=expression, **({} if time is None else {"time": time}))
        document = response.json()
        if document["status"] != "success":
            raise AssertionError(f"{expression}: {document}")
        return [(each["metric"], float(each["value"][1])) for each in document["data"]["result"]]

    def value(self, expression: str) -> float | None:
        """The value of the only series of an answer, or None where there is none yet."""
        answer = self.query(expression)
        return answer[0][1] if len(answer) == 1 else None

    def wait_for(self, expression: str, value: float, timeout_seconds: float = 30) -> None:
        eventually(lambda: self.value(expression) == value, f"{expression} = {value:g}", timeout_seconds)
