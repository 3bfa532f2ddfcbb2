"""What vLLM, the DCGM exporter and kube-state-metrics would expose for some pods, as text for Prometheus.

Names, types, units and labels are those of vLLM's v1 engine, of DCGM exporter's default counters (memory in MiB, no
total) and of kube-state-metrics. Pure: state in, text out; `inference_exporter.py` serves it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

TIME_TO_FIRST_TOKEN_BUCKETS = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
FINISHED_REASONS = ("stop", "length", "abort", "error")


@dataclass(frozen=True)
class Pod:
    """One inference server and its GPU, as its exporters see it."""

    name: str
    is_ready: bool = True
    requests_running: int = 0
    requests_waiting: int = 0
    kv_cache_usage: float = 0.0
    finished: Mapping[str, int] = field(default_factory=dict)
    """Requests that ended since the pod's start, by finished_reason."""
    first_token_seconds: tuple[float, ...] = ()
    """Every time to first token since the pod's start."""
    engine_active: float = 0.0
    """0–1; GPU_UTIL (0–100) shows at once 100 when any kernel runs, and so does it here."""
    memory_used_mib: int = 0
    memory_reserved_mib: int = 600
    memory_total_mib: int = 81_920
    restarts: int = 0
    was_killed_out_of_memory: bool = False


@dataclass(frozen=True)
class Workload:
    """A Deployment of inference servers that serve one model."""

    namespace: str
    deployment: str
    model: str
    spec_replicas: int = 0
    desired_replicas: int | None = None
    """What the HPA of the same name wants, where there is one."""
    pods: tuple[Pod, ...] = ()
    exports_kube_state: bool = True

    @property
    def ready_pods(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if pod.is_ready)


def line(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{key}="{text}"' for key, text in labels.items())
    return f"{name}{{{inside}}} {value:.12g}"


def family(name: str, kind: str, samples: Iterable[tuple[Mapping[str, str], float]], suffix: str = "") -> list[str]:
    """A metric family: its type, and one line for each sample (`suffix` as counters have it)."""
    return [f"# HELP {name} As in production.", f"# TYPE {name} {kind}"] + [
        line(name + suffix, labels, value) for labels, value in samples
    ]


def vllm(pod: Pod, model: str) -> str:
    """The /metrics of one vLLM server."""
    labels = {"model_name": model, "engine": "0"}
    lines = family("vllm:num_requests_running", "gauge", [(labels, pod.requests_running)])
    lines += family("vllm:num_requests_waiting", "gauge", [(labels, pod.requests_waiting)])
    lines += family("vllm:kv_cache_usage_perc", "gauge", [(labels, pod.kv_cache_usage)])
    # In Prometheus' text format, unlike OpenMetrics, a counter's family has its whole name.
    finished = [({**labels, "finished_reason": reason}, pod.finished.get(reason, 0)) for reason in FINISHED_REASONS]
    lines += family("vllm:request_success_total", "counter", finished)
    lines += histogram("vllm:time_to_first_token_seconds", labels, pod.first_token_seconds)
    return "\n".join(lines) + "\n"


def histogram(name: str, labels: Mapping[str, str], observed: tuple[float, ...]) -> list[str]:
    lines = family(name, "histogram", [])
    for bound in TIME_TO_FIRST_TOKEN_BUCKETS:
        lines.append(line(f"{name}_bucket", {**labels, "le": str(bound)}, sum(each <= bound for each in observed)))
    lines.append(line(f"{name}_bucket", {**labels, "le": "+Inf"}, len(observed)))
    return [*lines, line(f"{name}_sum", labels, sum(observed)), line(f"{name}_count", labels, len(observed))]


def dcgm(workload: Workload) -> str:
    """The /metrics of the node's one DCGM exporter: a GPU for each pod, with the pod's name on it."""

    def labels(index: int, pod: Pod) -> dict[str, str]:
        return {
            "gpu": str(index),
            "UUID": f"GPU-{pod.name}",
            "device": f"nvidia{index}",
            "modelName": "NVIDIA H100 80GB HBM3",
            "Hostname": "gpu-0",
            "container": "server",
            "namespace": workload.namespace,
            "pod": pod.name,
        }

    pods = list(enumerate(workload.pods))
    values = {
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE": [pod.engine_active for _, pod in pods],
        "DCGM_FI_DEV_GPU_UTIL": [100.0 if pod.engine_active else 0.0 for _, pod in pods],
        "DCGM_FI_DEV_FB_USED": [float(pod.memory_used_mib) for _, pod in pods],
        "DCGM_FI_DEV_FB_RESERVED": [float(pod.memory_reserved_mib) for _, pod in pods],
        "DCGM_FI_DEV_FB_FREE": [
            float(pod.memory_total_mib - pod.memory_used_mib - pod.memory_reserved_mib) for _, pod in pods
        ],
    }
    lines: list[str] = []
    for name, numbers in values.items():
        lines += family(name, "gauge", [(labels(*each), number) for each, number in zip(pods, numbers, strict=True)])
    return "\n".join(lines) + "\n"


def kube_state(workload: Workload) -> str:
    """What kube-state-metrics tells of the Deployment and its pods; nothing at all while it "is down"."""
    if not workload.exports_kube_state:
        return ""
    deployment = {"namespace": workload.namespace, "deployment": workload.deployment}
    lines = family("kube_deployment_spec_replicas", "gauge", [(deployment, workload.spec_replicas)])
    lines += family("kube_deployment_status_replicas", "gauge", [(deployment, len(workload.pods))])
    lines += family("kube_deployment_status_replicas_ready", "gauge", [(deployment, len(workload.ready_pods))])
    if workload.desired_replicas is not None:
        autoscaler = {"namespace": workload.namespace, "horizontalpodautoscaler": workload.deployment}
        name = "kube_horizontalpodautoscaler_status_desired_replicas"
        lines += family(name, "gauge", [(autoscaler, workload.desired_replicas)])

    def identity(pod: Pod) -> dict[str, str]:
        return {"namespace": workload.namespace, "pod": pod.name, "uid": f"uid-{pod.name}"}

    def container(pod: Pod) -> dict[str, str]:
        return {**identity(pod), "container": "server"}

    conditions = {"true": True, "false": False, "unknown": None}
    ready = [
        ({**identity(pod), "condition": text}, float(pod.is_ready is fact))
        for pod in workload.pods
        for text, fact in conditions.items()
    ]
    lines += family("kube_pod_status_ready", "gauge", ready)
    info = [({**identity(pod), "created_by_kind": "ReplicaSet", "node": "gpu-0"}, 1.0) for pod in workload.pods]
    lines += family("kube_pod_info", "gauge", info)
    restarts = [(container(pod), float(pod.restarts)) for pod in workload.pods]
    lines += family("kube_pod_container_status_restarts_total", "counter", restarts)
    killed = [({**container(pod), "reason": "OOMKilled"}, 1.0) for pod in workload.pods if pod.was_killed_out_of_memory]
    lines += family("kube_pod_container_status_last_terminated_reason", "gauge", killed)
    return "\n".join(lines) + "\n"
