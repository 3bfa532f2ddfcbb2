"""What a real Prometheus makes of the exporters: the names and labels that policies will meet in production."""

from collections.abc import Callable

import pytest
import requests
from inference_exporter import InferenceExporter
from inference_metrics import Pod
from prometheus_process import PrometheusProcess

pytestmark = pytest.mark.slow

StartPrometheus = Callable[[InferenceExporter], PrometheusProcess]


def test_each_pod_is_scraped_with_its_own_name_and_vllm_labels(
    exporter: InferenceExporter, start_prometheus: StartPrometheus
) -> None:
    """34 requests on two pods with a batch of 8: each has 17, of which 8 run and 9 wait."""
    exporter.set_pods("llama-1", "llama-2")
    exporter.set_load(34, batch_size=8)
    prometheus = start_prometheus(exporter)
    prometheus.wait_for("sum(vllm:num_requests_waiting)", 18)

    answer = prometheus.query('vllm:num_requests_running{model_name="llama-70b"}')
    assert [value for _, value in answer] == [8, 8]
    assert answer[0][0] == {
        "__name__": "vllm:num_requests_running",
        "container": "server",
        "engine": "0",
        "instance": "llama-1:8000",
        "job": "vllm",
        "model_name": "llama-70b",
        "namespace": "inference",
        "pod": "llama-1",
    }


def test_gpus_carry_the_workloads_pod_as_exported_pod_and_the_exporters_own_as_pod(
    exporter: InferenceExporter, start_prometheus: StartPrometheus
) -> None:
    """66 GiB are 67,584 MiB; with 600 MiB reserved of 81,920 there remain 13,736 free. Any kernel reads as 100 %."""
    exporter.set_pods(Pod("llama-1", engine_active=0.35, memory_used_mib=67_584))
    prometheus = start_prometheus(exporter)
    prometheus.wait_for("DCGM_FI_DEV_FB_USED", 67_584)

    assert prometheus.value("DCGM_FI_DEV_FB_FREE") == 13_736
    assert prometheus.value("DCGM_FI_PROF_GR_ENGINE_ACTIVE") == 0.35
    assert prometheus.value("DCGM_FI_DEV_GPU_UTIL") == 100
    ((labels, _),) = prometheus.query("DCGM_FI_DEV_FB_USED")
    assert (labels["exported_namespace"], labels["exported_pod"]) == ("inference", "llama-1")
    assert (labels["namespace"], labels["pod"]) == ("gpu-operator", "nvidia-dcgm-exporter-x7k2p")
    assert labels["UUID"] == "GPU-llama-1"


def test_kube_state_metrics_tell_wanted_and_ready_replicas_under_the_workloads_namespace(
    exporter: InferenceExporter, start_prometheus: StartPrometheus
) -> None:
    exporter.set_pods("llama-1", Pod("llama-2", is_ready=False), spec_replicas=3)
    prometheus = start_prometheus(exporter)
    prometheus.wait_for('kube_deployment_spec_replicas{namespace="inference",deployment="llama"}', 3)

    assert prometheus.value("kube_deployment_status_replicas_ready") == 1
    assert prometheus.value('kube_pod_status_ready{condition="true",namespace="inference",pod="llama-1"}') == 1
    assert prometheus.value('kube_pod_status_ready{condition="true",namespace="inference",pod="llama-2"}') == 0
    assert prometheus.value('kube_pod_status_ready{condition="false",pod="llama-2"}') == 1


def test_a_percentile_of_the_time_to_first_token_comes_from_vllms_own_buckets(
    exporter: InferenceExporter, start_prometheus: StartPrometheus
) -> None:
    """100 requests of 0.3 s lie in the bucket (0.25, 0.5]; half-way through it, the median reads as 0.375."""
    exporter.set_pods("llama-1")
    prometheus = start_prometheus(exporter)
    prometheus.wait_for("vllm:time_to_first_token_seconds_count", 0)
    exporter.finish_requests("llama-1", 100, first_token_seconds=0.3)
    prometheus.wait_for('vllm:request_success_total{finished_reason="stop"}', 100)
    assert prometheus.value("histogram_quantile(0.5, rate(vllm:time_to_first_token_seconds_bucket[30s]))") == 0.375


def test_a_pod_that_ends_leaves_and_a_new_one_is_found_without_a_restart(
    exporter: InferenceExporter, start_prometheus: StartPrometheus
) -> None:
    exporter.set_pods("llama-1", "llama-2")
    exporter.set_load(10)
    prometheus = start_prometheus(exporter)
    prometheus.wait_for("count(vllm:num_requests_running)", 2)

    exporter.set_pods("llama-1", "llama-3", "llama-4")
    prometheus.set_targets("vllm", exporter.pod_targets())
    prometheus.wait_for("count(vllm:num_requests_running)", 3)
    assert prometheus.query('vllm:num_requests_running{pod="llama-2"}') == []


def test_prometheus_comes_back_from_an_outage_with_its_port_and_data(
    exporter: InferenceExporter, start_prometheus: StartPrometheus
) -> None:
    exporter.set_pods("llama-1")
    exporter.set_load(5)
    prometheus = start_prometheus(exporter)
    prometheus.wait_for("vllm:num_requests_running", 5)
    before = prometheus.value("timestamp(vllm:num_requests_running)")
    assert before is not None

    prometheus.stop()
    with pytest.raises(requests.ConnectionError):
        prometheus.query("up")

    prometheus.start()
    assert prometheus.query("vllm:num_requests_running", time=before)[0][1] == 5
