"""The exporters' state: load divided among ready pods, and changes that show at whole seconds only."""

from collections.abc import Iterator

import pytest
from inference_exporter import InferenceExporter, shares
from inference_metrics import Pod, Workload, dcgm, kube_state, vllm


def test_whole_requests_are_divided_and_none_is_lost() -> None:
    assert shares(34, 3) == [12, 11, 11]


def test_only_ready_pods_take_load_and_what_exceeds_the_batch_waits(exporter: InferenceExporter) -> None:
    exporter.set_pods("a", "b", Pod("c", is_ready=False))
    exporter.set_load(21, batch_size=8)
    pods = {pod.name: (pod.requests_running, pod.requests_waiting) for pod in exporter.workload.pods}
    assert pods == {"a": (8, 3), "b": (8, 2), "c": (0, 0)}


def test_load_moves_when_a_pod_becomes_ready(exporter: InferenceExporter) -> None:
    exporter.set_pods("a", Pod("b", is_ready=False))
    exporter.set_load(6)
    exporter.set_pod("b", is_ready=True)
    assert [pod.requests_running for pod in exporter.workload.pods] == [3, 3]


class Clock:
    """A clock that the test moves."""

    now = 1000.2

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def clocked(clock: Clock) -> Iterator[InferenceExporter]:
    exporter = InferenceExporter("inference", "llama", "llama-70b", clock=clock)
    yield exporter
    exporter.close()


def test_a_change_shows_from_the_next_whole_second(clocked: InferenceExporter, clock: Clock) -> None:
    """Pods appear at 1000.2 and load at 1001.2: at 1001.9 there is a pod without load, at 1002.0 with it."""
    clocked.set_pods("a")
    clock.now = 1001.2
    clocked.set_load(6)
    shown = 'vllm:num_requests_running{model_name="llama-70b",engine="0"}'
    clock.now = 1000.9
    assert clocked.page("/pods/a") is None
    clock.now = 1001.9
    assert f"{shown} 0\n" in str(clocked.page("/pods/a"))
    clock.now = 1002.0
    assert f"{shown} 6\n" in str(clocked.page("/pods/a"))


def test_a_loading_pod_and_an_unknown_one_have_no_page(clocked: InferenceExporter, clock: Clock) -> None:
    clocked.set_pods(Pod("a", is_ready=False), "b")
    clock.now += 1
    pages = [clocked.page(f"/pods/{name}") is not None for name in ("a", "b", "zzz")]
    assert pages == [False, True, False]


def test_every_family_is_declared_once_with_its_type() -> None:
    pod = Pod("a", finished={"stop": 3}, first_token_seconds=(0.3, 9000.0), was_killed_out_of_memory=True)
    workload = Workload("inference", "llama", "llama-70b", spec_replicas=1, pods=(pod,))
    for text in (vllm(pod, "llama-70b"), dcgm(workload), kube_state(workload)):
        types = [line.split()[2] for line in text.splitlines() if line.startswith("# TYPE")]
        assert len(types) == len(set(types))
    histogram = vllm(pod, "llama-70b")
    assert 'vllm:time_to_first_token_seconds_bucket{model_name="llama-70b",engine="0",le="2560.0"} 1' in histogram
    assert 'vllm:time_to_first_token_seconds_bucket{model_name="llama-70b",engine="0",le="+Inf"} 2' in histogram
