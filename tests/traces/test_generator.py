"""The bundled trace: made again from its seed, and physically sound."""

import gzip

from sim.traces.arrivals import Bucket, count_requests, read_arrivals
from sim.traces.generator import LLAMA_8B, LLAMA_70B, generate
from sim.traces.metric_trace import TRACE_FILE, read_metric_trace

LOG = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:18.9799500,100,5
2023-11-16 18:17:18.9799600,7,1
2023-11-16 18:17:50.0000000,1,2"""


def test_the_generator_makes_the_shipped_trace_again():
    # The text, not the compressed bytes, which depend on the build of zlib.
    assert generate(read_arrivals()) == gzip.decompress(TRACE_FILE.read_bytes()).decode()


def test_another_seed_makes_another_trace():
    assert generate(read_arrivals(), seed=1) != gzip.decompress(TRACE_FILE.read_bytes()).decode()


def test_a_log_is_counted_in_steps_since_its_first_request():
    # 0 s and 14.99999 s; 15 s; nothing; 46.02 s.
    assert count_requests(LOG.splitlines()) == [
        Bucket(2, 4908, 15),
        Bucket(1, 7, 1),
        Bucket(0, 0, 0),
        Bucket(1, 1, 2),
    ]


def test_the_shipped_counts_hold_every_request_of_the_log():
    # 19,366 and 8,819 requests: the line counts of the data set's two files.
    arrivals = read_arrivals()
    assert sum(one.requests for one in arrivals["conv"]) == 19366
    assert sum(one.requests for one in arrivals["code"]) == 8819


def test_a_full_batch_completes_what_the_generator_says():
    # 64 ÷ (211 × (0.025 + 0.00028 × 64) + 64 × 1155 × 0.000075) = 64 ÷ 14.60 = 4.38
    assert round(LLAMA_70B.engine.rate(64, 1155, 211), 2) == 4.38
    # 128 ÷ (150 × (0.008 + 0.00005 × 128) + 128 × 1450 × 0.00005) = 128 ÷ 11.44 = 11.19
    assert round(LLAMA_8B.engine.rate(128, 1450, 150), 2) == 11.19


def test_the_trace_holds_two_hours_of_two_deployments():
    trace = read_metric_trace()
    assert trace.seconds == 7200
    assert set(trace.deployments) == {"llama-70b", "llama-8b"}


def test_every_request_of_a_pod_is_completed_waiting_or_running():
    for steps in read_metric_trace().deployments.values():
        for step in steps:
            for pod in step.pods.values():
                if pod.serving is not None:
                    here = pod.serving
                    assert here.arrivals_total == here.completed_total + here.waiting + here.running


def test_counters_never_fall_and_ready_pods_are_as_many_as_told():
    for steps in read_metric_trace().deployments.values():
        completed: dict[str, int] = {}
        for step in steps:
            assert step.ready_replicas == sum(pod.is_ready for pod in step.pods.values())
            for name, pod in step.pods.items():
                if pod.serving is not None:
                    assert pod.serving.completed_total >= completed.get(name, 0)
                    completed[name] = pod.serving.completed_total
