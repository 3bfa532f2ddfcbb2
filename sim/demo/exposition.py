"""Exposition: a pod and a Deployment of the trace as the series that vLLM, DCGM and kube-state-metrics give.

Names and labels are those exporters' own, as a usual Prometheus stores them: the DCGM exporter's pod is in `pod` and
the workload's in `exported_pod`. Sources: vLLM's and NVIDIA's metric documentation, kube-state-metrics' documentation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from sim.traces.metric_trace import PodRow, Step

NAMESPACE = "inference"
GPUS = {"llama-70b": 2}
"""Cards a pod has, by Deployment; one where nothing is said."""

Labels = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Series:
    """One series at one moment."""

    name: str
    labels: Labels
    value: float


def deployment_series(deployment: str, step: Step) -> Iterator[Series]:
    """What kube-state-metrics tells about a Deployment."""
    labels = _kube(("deployment", deployment))
    yield Series("kube_deployment_spec_replicas", labels, step.spec_replicas)
    yield Series("kube_deployment_status_replicas_ready", labels, step.ready_replicas)


def pod_series(deployment: str, pod: str, row: PodRow) -> Iterator[Series]:
    """What all exporters tell about one pod."""
    for condition, holds in (("true", row.is_ready), ("false", not row.is_ready), ("unknown", False)):
        yield Series("kube_pod_status_ready", _kube(("condition", condition), ("pod", pod)), float(holds))
    yield from _gpus(deployment, pod, row)
    if row.serving is None:
        return
    serving = row.serving
    yield Series("vllm:num_requests_running", _vllm(deployment, pod), serving.running)
    yield Series("vllm:num_requests_waiting", _vllm(deployment, pod), serving.waiting)
    yield Series("vllm:kv_cache_usage_perc", _vllm(deployment, pod), round(serving.kv_ratio, 4))
    # One answer in ten ends at its limit of tokens; the two counters add up to the completions.
    length = serving.completed_total // 10
    for reason, value in (("stop", serving.completed_total - length), ("length", length)):
        yield Series("vllm:request_success_total", _vllm(deployment, pod, ("finished_reason", reason)), value)


def _gpus(deployment: str, pod: str, row: PodRow) -> Iterator[Series]:
    for gpu in range(GPUS.get(deployment, 1)):
        labels = _dcgm(deployment, pod, gpu)
        yield Series("DCGM_FI_PROF_GR_ENGINE_ACTIVE", labels, round(row.gpu_active, 4))
        yield Series("DCGM_FI_DEV_GPU_UTIL", labels, round(100 * min(1.0, row.gpu_active * 1.2)))
        yield Series("DCGM_FI_DEV_FB_USED", labels, row.vram_used_mib)
        yield Series("DCGM_FI_DEV_FB_FREE", labels, row.vram_free_mib)
        yield Series("DCGM_FI_DEV_FB_RESERVED", labels, row.vram_reserved_mib)


@lru_cache(maxsize=4096)
def _kube(*own: tuple[str, str]) -> Labels:
    return _sorted(("instance", "10.0.0.9:8080"), ("job", "kube-state-metrics"), ("namespace", NAMESPACE), *own)


@lru_cache(maxsize=4096)
def _vllm(model: str, pod: str, *own: tuple[str, str]) -> Labels:
    return _sorted(
        ("engine", "0"),
        ("instance", f"{_address(pod)}:8000"),
        ("job", "vllm"),
        ("model_name", model),
        ("namespace", NAMESPACE),
        ("pod", pod),
        *own,
    )


@lru_cache(maxsize=4096)
def _dcgm(deployment: str, pod: str, gpu: int) -> Labels:
    digest = sha256(f"{pod}/{gpu}".encode()).hexdigest()
    return _sorted(
        ("UUID", f"GPU-{digest[:8]}-{digest[8:12]}-{digest[12:16]}"),
        ("container", "exporter"),
        ("device", f"nvidia{gpu}"),
        ("exported_container", "vllm"),
        ("exported_namespace", NAMESPACE),
        ("exported_pod", pod),
        ("gpu", str(gpu)),
        ("instance", f"{_address(pod)}:9400"),
        ("job", "dcgm-exporter"),
        ("namespace", "gpu-operator"),
        ("pod", f"dcgm-exporter-{digest[:5]}"),
    )


def _address(pod: str) -> str:
    digest = sha256(pod.encode()).digest()
    return f"10.{digest[0]}.{digest[1]}.{digest[2]}"


def _sorted(*labels: tuple[str, str]) -> Labels:
    return tuple(sorted(labels))
