"""Inference servers that are not there: exporters for Prometheus of vLLM pods, their GPUs and their Deployment.

Each pod is a scrape target of its own (a path on one HTTP server), the GPUs are behind one DCGM exporter, the
Deployment behind one kube-state-metrics. The state is set by the test, or by `deployment_follower.py` after a
real Deployment.

A change shows from the next whole second on. With a scrape interval of 1 s and a query at a whole second, all samples
of an answer then tell of one state: 34 requests moved from two pods to three are never seen as 17 + 17 + 11.
"""

import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import inference_metrics
from inference_metrics import Pod, Workload
from prometheus_process import Job, Target

REMEMBERED_STATES = 1000


def shares(total: int, count: int) -> list[int]:
    """Divide whole requests among pods: 34 among 3 is 12, 11, 11."""
    return [total // count + (index < total % count) for index in range(count)]


class InferenceExporter:
    """The exporters of one workload; a thread-safe state that tests set while Prometheus scrapes."""

    def __init__(
        self,
        namespace: str,
        deployment: str,
        model: str,
        *,
        is_aligned: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.scrape_latency_seconds = 0.0
        """How long an answer takes after its values were read; DCGM exporters take 0.4 s and more."""
        self._is_aligned = is_aligned
        self._clock = clock
        self._lock = threading.Lock()
        self._states: deque[tuple[float, Workload]] = deque(
            [(0.0, Workload(namespace, deployment, model))], maxlen=REMEMBERED_STATES
        )
        self._in_flight: int | None = None
        self._batch_size = 0
        exporter = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                text = exporter.page(self.path)
                time.sleep(exporter.scrape_latency_seconds)
                self.send_response(HTTPStatus.NOT_FOUND if text is None else HTTPStatus.OK)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                with suppress(ConnectionError):  # Prometheus was stopped while it waited
                    self.end_headers()
                    self.wfile.write((text or "").encode())

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name="inference-exporter", daemon=True
        ).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def page(self, path: str) -> str | None:
        """The text under a path, as of the last whole second; None for a pod that is not there or still loads."""
        with self._lock:
            now = self._clock()
            workload = next(state for start, state in reversed(self._states) if start <= now)
        if path == "/dcgm":
            return inference_metrics.dcgm(workload)
        if path == "/kube-state":
            return inference_metrics.kube_state(workload)
        pod = next((pod for pod in workload.ready_pods if path == f"/pods/{pod.name}"), None)
        return inference_metrics.vllm(pod, workload.model) if pod else None

    @property
    def workload(self) -> Workload:
        """The newest state, shown or about to be."""
        with self._lock:
            return self._states[-1][1]

    def _change(self, change: Callable[[Workload], Workload]) -> None:
        with self._lock:
            workload = change(self._states[-1][1])
            if self._in_flight is not None:
                workload = self._spread(workload, self._in_flight)
            if workload != self._states[-1][1]:
                now = self._clock()
                self._states.append((math.ceil(now) if self._is_aligned else now, workload))

    def _spread(self, workload: Workload, in_flight: int) -> Workload:
        """Divide what is in flight among the ready pods; a pod runs its batch at most, the rest waits."""
        ready = [pod.name for pod in workload.ready_pods]
        share = dict(zip(ready, shares(in_flight, len(ready)), strict=True)) if ready else {}
        pods = []
        for pod in workload.pods:
            running = min(share.get(pod.name, 0), self._batch_size)
            pods.append(replace(pod, requests_running=running, requests_waiting=share.get(pod.name, 0) - running))
        return replace(workload, pods=tuple(pods))

    def set_load(self, in_flight: int, batch_size: int = 8) -> None:
        """Put so many requests in flight, from now on divided among whichever pods are ready."""

        def load(workload: Workload) -> Workload:
            self._in_flight, self._batch_size = in_flight, batch_size
            return workload

        self._change(load)

    def wait_until_shown(self) -> None:
        """Return once a scrape sees the newest state; one that comes before still sees the last."""
        with self._lock:
            shown_from = self._states[-1][0]
        while (early := shown_from - self._clock()) > 0:
            time.sleep(early)

    def set_pods(self, *pods: Pod | str, spec_replicas: int | None = None) -> None:
        """Say which pods there are; one that was there already, and is given by name, keeps its numbers."""

        def new_pods(workload: Workload) -> Workload:
            known = {pod.name: pod for pod in workload.pods}
            given = tuple(known.get(pod, Pod(pod)) if isinstance(pod, str) else pod for pod in pods)
            return replace(workload, pods=given, spec_replicas=len(given) if spec_replicas is None else spec_replicas)

        self._change(new_pods)

    def _change_pod(self, name: str, change: Callable[[Pod], Pod]) -> None:
        self._change(
            lambda workload: replace(
                workload, pods=tuple(change(pod) if pod.name == name else pod for pod in workload.pods)
            )
        )

    def set_pod(self, name: str, **changes: Any) -> None:
        """Change some numbers of one pod (see `Pod`)."""
        self._change_pod(name, lambda pod: replace(pod, **changes))

    def finish_requests(self, name: str, count: int, first_token_seconds: float, reason: str = "stop") -> None:
        """Let a pod end some requests, each of which waited so long for its first token."""

        def finish(pod: Pod) -> Pod:
            finished = {**pod.finished, reason: pod.finished.get(reason, 0) + count}
            observed = (*pod.first_token_seconds, *[first_token_seconds] * count)
            return replace(pod, finished=finished, first_token_seconds=observed)

        self._change_pod(name, finish)

    def set_kube_state(self, *, is_up: bool) -> None:
        self._change(lambda workload: replace(workload, exports_kube_state=is_up))

    def set_desired_replicas(self, replicas: int) -> None:
        """Say what the HPA wants."""
        self._change(lambda workload: replace(workload, desired_replicas=replicas))

    def jobs(self) -> list[Job]:
        """The three scrape jobs, with the labels that the Prometheus operator's monitors would give."""
        dcgm = {"namespace": "gpu-operator", "pod": "nvidia-dcgm-exporter-x7k2p", "container": "exporter"}
        kube_state = {"namespace": "monitoring", "pod": "kube-state-metrics-5d9f", "container": "kube-state-metrics"}
        return [
            Job("vllm", self.pod_targets()),
            # Not honoured, as its chart has it: the workload's pod becomes exported_pod, `pod` is the exporter's.
            Job("dcgm", [Target(self.address, "/dcgm", dcgm)]),
            Job("kube-state-metrics", [Target(self.address, "/kube-state", kube_state)], honor_labels=True),
        ]

    def pod_targets(self) -> list[Target]:
        """One target for each pod, loading ones too: a scrape of those fails, as it does in life."""
        namespace = self.workload.namespace
        return [
            Target(
                self.address,
                f"/pods/{pod.name}",
                {"namespace": namespace, "pod": pod.name, "container": "server", "instance": f"{pod.name}:8000"},
            )
            for pod in self.workload.pods
        ]
