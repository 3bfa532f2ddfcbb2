"""The ready policies: each in a small world, the number it publishes worked out by hand; and its HPA beside it."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from inference_worlds import World, pods_of
from policy_world import LIBRARY, T, outcomes, served, tick

from adapter.bundled import policies_folder
from adapter.checking import check_paths
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.samples import Answer
from adapter.core.signals import Signal

READY = policies_folder() / "ready"
FILES = sorted(path for path in READY.glob("*.yaml") if not path.name.endswith((".hpa.yaml", ".test.yaml")))
FAST = {"0.1": 100.0, "+Inf": 100.0}
"""Requests that all took less than a tenth of a second."""


@cache
def loaded(file: str) -> Mapping[str, LoadedPolicy]:
    found, problems = read_policies((READY / f"{file}.yaml").read_text(), file, LIBRARY)
    assert problems == []
    return {one.policy.metadata.name: one for one in found}


def ready(file: str, name: str = "") -> LoadedPolicy:
    return loaded(file)[name or file]


def now(world: Callable[[World], World], policy: LoadedPolicy, **more: Any) -> str:
    """What the policy serves of one tick of this world."""
    return served(policy, tick(policy, world(World(T - policy.plan.offset)).series, **more))


def story(policy: LoadedPolicy, *steps: Callable[[World], World]) -> str:
    """What the policy serves at the last of ticks that end at T."""
    times = [T - policy.plan.every * place for place in reversed(range(len(steps)))]
    ticks = [
        tick(policy, step(World(t - policy.plan.offset)).series, t=t) for t, step in zip(times, steps, strict=True)
    ]
    return served(policy, *ticks)


def computed(policy: LoadedPolicy, part: str, answer: World) -> dict[str, Answer]:
    """The answer to the computed query that contains the part."""
    (query,) = [text for text, is_raw in policy.plan.queries if not is_raw and part in text]
    return {query: Answer(answer.series)}


def vllm(world: World, model: str, pods: tuple[str, ...], per_second: float, waiting: float, kv: float) -> World:
    """A pod each of so many completions per second, so many waiting requests and such a use of the cache."""
    labels = {"model_name": model, "engine": "0"}
    return (
        world.counter("vllm:request_success_total", per_second * 60, pods, **labels, finished_reason="stop")
        .gauge("vllm:num_requests_running", 20, pods, **labels)
        .gauge("vllm:num_requests_waiting", waiting, pods, **labels)
        .gauge("vllm:kv_cache_usage_perc", kv, pods, **labels)
        .histogram("vllm:time_to_first_token_seconds", FAST, pods, **labels)
        .counter("vllm:num_preemptions_total", 0, pods, **labels)
    )


CHAT = pods_of("chat", 4)


def chat(per_second: float, waiting: float, kv: float) -> Callable[[World], World]:
    return lambda world: (
        vllm(world, "chat", CHAT, per_second, waiting, kv)
        .replicas("deployment", "chat", CHAT)
        .gauge("DCGM_FI_DEV_XID_ERRORS", 0, CHAT, UUID="x")
    )


def test_vllm_chat_follows_arrivals_and_the_queue() -> None:
    # 4 pods × 4/s = 16, ÷ (0.8 × 4) = 5; 4 × 24 = 96 waiting ÷ (4 × 120) = 0.2. The cache: 2.4 ÷ 0.65 = 3.69.
    assert now(chat(4, 24, 0.6), ready("vllm-chat")) == "5200m"


def test_vllm_chat_gives_up_no_replica_after_an_oom_kill() -> None:
    policy = ready("vllm-chat")

    def killed(world: World) -> World:
        labels = {"container": "server", "reason": "OOMKilled"}
        return (
            chat(0.8, 0, 0.1)(World(world.at))
            .counter("kube_pod_container_status_restarts_total", 1, CHAT[:1], container="sidecar")
            .gauge("kube_pod_container_status_last_terminated_reason", 1, CHAT[:1], **labels)
        )

    # 3.2 ÷ 3.2 = 1, which the floor makes 2; with the kill N = 4 stays.
    assert [story(policy, *[step] * 5) for step in (chat(0.8, 0, 0.1), killed)] == ["2", "4"]


def test_prefill_follows_arrivals_and_decode_what_is_in_flight() -> None:
    pods = pods_of("chat-prefill", 4)

    def prefill(world: World) -> World:
        return (
            world.counter("sglang:num_requests_total", 480, pods)
            .gauge("sglang:num_running_reqs", 4, pods)
            .gauge("sglang:num_queue_reqs", 0, pods)
            .gauge("sglang:num_prefill_bootstrap_queue_reqs", 15, pods)
            .histogram("sglang:time_to_first_token_seconds", FAST, pods)
            .replicas("deployment", "chat-prefill", pods)
        )

    # 4 × 480 ÷ 60 = 32, ÷ (0.8 × 10) = 4; 4 × 15 = 60 ÷ (10 × 120) = 0.05
    assert now(prefill, ready("prefill-decode", "prefill")) == "4050m"
    decoders = pods_of("chat-decode", 4)

    def decode(world: World) -> World:
        return (
            world.gauge("sglang:num_running_reqs", 60, decoders)
            .gauge("sglang:num_queue_reqs", 15, decoders)
            .gauge("sglang:token_usage", 0.5, decoders)
            .histogram("sglang:inter_token_latency_seconds", {"0.04": 100, "+Inf": 100}, decoders)
            .replicas("deployment", "chat-decode", decoders)
        )

    # 4 × 75 = 300 ÷ 60 = 5. The cache: 2 ÷ 0.7 = 2.86.
    assert now(decode, ready("prefill-decode", "decode")) == "5"


def test_long_context_follows_the_cache_before_the_batch() -> None:
    pods = pods_of("long-context", 4)

    def world(world: World) -> World:
        labels = {"model_name": "long-context", "engine": "0"}
        return (
            world.gauge("vllm:kv_cache_usage_perc", 0.84, pods, **labels)
            .gauge("vllm:num_requests_running", 5, pods, **labels)
            .gauge("vllm:num_requests_waiting", 1, pods, **labels)
            .counter("vllm:num_preemptions_total", 0, pods, **labels)
            .replicas("deployment", "long-context", pods)
        )

    # 4 × 0.84 = 3.36 ÷ 0.6 = 5.6; 24 in flight ÷ 6 = 4
    assert now(world, ready("long-context")) == "5600m"


def test_a_batch_queue_is_drained_over_half_an_hour() -> None:
    policy = ready("batch-queue")
    at = T - policy.plan.offset
    rate = computed(policy, "sum(rate(", World(at).gauge("", 9))

    def world(world: World) -> World:
        jobs = {"consumergroup": "batch-worker", "topic": "jobs"}
        for partition in ("0", "1", "2"):
            world = world.gauge("kafka_consumergroup_lag", 1800, **jobs, partition=partition)
            world = world.gauge("kafka_topic_partition_current_offset", 7, topic="jobs", partition=partition)
        return world.replicas("deployment", "batch-worker", pods_of("batch-worker", 3))

    # 9 ÷ (0.9 × 2) = 5; 3 × 1800 = 5400 ÷ (2 × 1800) = 1.5
    assert now(world, policy, derived=rate) == "6500m"


def vision(gpu: float, per_second: float, pending: float, failing: float = 0.0) -> Callable[[World], World]:
    pods = pods_of("vision", 4)
    model = {"model": "resnet", "version": "1"}
    return lambda world: (
        world.counter("nv_inference_request_success", per_second * 60, pods, **model)
        .counter("nv_inference_request_failure", failing * 60, pods, **model, reason="OTHER")
        .gauge("nv_inference_pending_request_count", pending, pods, **model)
        .gauge("nv_gpu_utilization", gpu, pods, gpu_uuid="GPU-1")
        .replicas("deployment", "vision", pods)
    )


def test_triton_vision_follows_arrivals_and_holds_while_requests_fail() -> None:
    policy = ready("triton-vision")
    # 160 ÷ (0.8 × 50) = 4; 300 pending ÷ (50 × 60) = 0.1. The cards: 2.4 ÷ 0.8 = 3.
    assert now(vision(0.6, 40, 75), policy) == "4100m"
    # 4 × 10 ÷ 40 = 1, the cards' D = 4 × 0.13 ÷ 0.65 = 0.8: the floor of 2. A tenth of the requests fails: N = 4 stays.
    assert story(policy, *[vision(0.13, 10, 0)] * 5) == "2"
    assert story(policy, *[vision(0.13, 9, 0, failing=1)] * 5) == "4"


def test_nim_chat_is_a_stateful_set_of_what_is_in_flight() -> None:
    pods = ("nim-llama-0", "nim-llama-1")

    def world(world: World) -> World:
        return (
            world.gauge("num_requests_running", 40, pods)
            .gauge("num_requests_waiting", 24, pods)
            .gauge("gpu_cache_usage_perc", 0.5, pods)
            .histogram("time_to_first_token_seconds", FAST, pods)
            .replicas("statefulset", "nim-llama", pods)
        )

    # 2 × 64 = 128 ÷ 32 = 4 is U, above N = 2. The cache: 1 ÷ 0.7 = 1.43.
    assert now(world, ready("nim-chat")) == "4"


def test_an_embedding_server_is_read_by_own_queries() -> None:
    policy = ready("embedding-server")
    pods = pods_of("embeddings", 2)
    rate = computed(policy, "te_request_count", World(T - policy.plan.offset).gauge("", 240, pods))

    def world(world: World) -> World:
        return (
            world.gauge("te_queue_size", 600, pods)
            .counter("te_request_count", 14400, pods)
            .gauge("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.75, pods, UUID="x")
            .replicas("deployment", "embeddings", pods)
        )

    # 480 ÷ (0.8 × 200) = 3; 1200 ÷ (200 × 60) = 0.1. The cards: 1.5 ÷ 0.75 = 2.
    assert now(world, policy, derived=rate) == "3100m"


def test_a_fleet_has_a_number_a_model() -> None:
    policy = ready("model-fleet")
    at = T - policy.plan.offset
    counts = {"llama-8b": 2, "mistral-7b": 1, "qwen-32b": 2}
    rates = {"llama-8b": 5.0, "mistral-7b": 0.0, "qwen-32b": 12.0}
    told, world = World(at), World(at)
    for model, count in counts.items():
        told = told.gauge("", float(count), model_name=model, deployment=model)
        world = vllm(world, model, pods_of(model, count), rates[model], 0, 0.1)
    derived = {**computed(policy, "spec_replicas", told), **computed(policy, "replicas_ready", told)}
    groups = outcomes(policy, tick(policy, world.series, derived=derived))
    shown = {one.labels["model_name"]: one.outcome.text for one in groups if isinstance(one.outcome, Signal)}
    # 10 ÷ (0.8 × 5) = 2.5; nothing, so the floor; 24 ÷ (0.8 × 12) = 2.5
    assert shown == {"llama-8b": "2500m", "mistral-7b": "1", "qwen-32b": "2500m"}


def test_mig_slices_of_one_card_are_told_apart() -> None:
    pods = pods_of("small", 4)

    def world(world: World) -> World:
        labels = {"model_name": "small", "engine": "0"}
        world = world.gauge("vllm:num_requests_running", 12, pods, **labels)
        world = world.gauge("vllm:num_requests_waiting", 3, pods, **labels)
        for place, pod in enumerate(pods):
            card = {"UUID": f"GPU-{place // 2}", "gpu": str(place // 2), "GPU_I_ID": str(place % 2 + 1)}
            owner = {"exported_pod": pod, "exported_namespace": "inference", "pod": "dcgm-x", **card}
            world = world.gauge("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.6, **owner)
            world = world.gauge("DCGM_FI_DEV_FB_USED", 18.75 * 1024, **owner)
        return world.replicas("deployment", "small", pods)

    # 60 in flight ÷ 12 = 5; slices 2.4 ÷ 0.75 = 3.2; memory 4 × 1.75 ÷ (19.5 - 17 - 0.5) = 3.5
    assert now(world, ready("mig-slices")) == "5"


def busy(percent: float, waiting: float) -> Callable[[World], World]:
    pods = pods_of("busy", 4)
    return lambda world: (
        world.gauge("gpu_utilization_percent", percent, pods, gpu="0")
        .gauge("model_queue_depth", waiting, pods, model="m")
        .gauge("gpu_temperature_celsius", 70, pods, gpu="0")
        .replicas("deployment", "busy", pods)
    )


def test_a_busy_gpu_with_a_queue_asks_for_more_when_it_lasted_five_minutes() -> None:
    policy = ready("busy-gpu")
    # Five minutes are 20 ticks of 15 s. 4 × 0.95 ÷ 0.7 = 5.428571
    assert story(policy, *[busy(95, 2)] * 20) == "5429m"
    assert story(policy, busy(85, 2), *[busy(95, 2)] * 19) == "4"
    assert story(policy, *[busy(95, 0)] * 20) == "4"
    # 4 × 0.33 ÷ 0.55 = 2.4
    assert story(policy, *[busy(33, 0)] * 20) == "2400m"


def slow(waiting: float) -> Callable[[World], World]:
    pods = pods_of("model", 4)
    buckets = {"1": 50.0, "5": 90.0, "10": 100.0, "+Inf": 100.0}
    return lambda world: (
        world.histogram("model_inference_latency_seconds", buckets, pods, model="m")
        .gauge("model_queue_depth", waiting, pods, model="m")
        .counter("model_inference_requests_total", 72, pods, model="m")
        .replicas("deployment", "model", pods)
    )


def test_the_fields_alert_asks_for_more_when_it_is_slow_and_queued_for_two_minutes() -> None:
    policy = ready("slow-and-queued")
    # Of 100 requests a pod 90 took up to 5 s and all up to 10: p95 = 5 + 5 × 5 ÷ 10 = 7.5 s. 4 ready × 1.5 = 6.
    assert story(policy, *[slow(4)] * 8) == "6"
    # With 8 waiting it is no alert; load alone: 4 × 1.2 ÷ 2.4 = 2.
    assert story(policy, *[slow(2)] * 8) == "2"
    # With 16 for less than 8 ticks none is asked for, U = 2, but none goes either: D is 6 at once, N = 4 lies between.
    assert story(policy, slow(2), *[slow(4)] * 7) == "4"


def test_every_ready_policy_is_free_of_errors_and_warnings() -> None:
    checked = check_paths([READY])
    found, problems = checked.loaded, checked.problems
    assert problems == []
    assert len(found) >= 10


def test_the_list_of_ready_policies_names_each() -> None:
    page = (READY / "README.md").read_text()
    assert [path.stem for path in FILES if f"[{path.stem}]({path.name})" not in page] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_hpa_stands_beside_each_policy_and_asks_for_what_it_publishes(path: Path) -> None:
    hpas = list(yaml.safe_load_all(path.with_suffix(".hpa.yaml").read_text()))
    asked = set()
    for hpa in hpas:
        external = hpa["spec"]["metrics"][0]["external"]
        by_name = {one.policy.spec.publish.metric: one.policy for one in loaded(path.stem).values()}
        policy = by_name[external["metric"]["name"]]
        asked.add(external["metric"]["name"])
        assert hpa["metadata"]["namespace"] == policy.metadata.namespace
        assert external["target"] == {"type": "AverageValue", "averageValue": "1"}
        groups = external["metric"].get("selector", {}).get("matchLabels", {})
        assert set(groups) == set(policy.spec.by)
        override = next(
            (policy.spec.overrides[name] for name in groups.values() if name in policy.spec.overrides), None
        )
        ceiling = override.ceiling if override is not None else policy.spec.publish.ceiling
        assert hpa["spec"]["maxReplicas"] == ceiling
        assert hpa["spec"]["minReplicas"] == max(1, policy.spec.publish.floor or 0)
        match = getattr(policy.spec.replicas, "match", None) or {"deployment": groups.get("model_name")}
        target = hpa["spec"]["scaleTargetRef"]
        assert {target["kind"].lower(): target["name"]} == match
    assert asked == {one.policy.spec.publish.metric for one in loaded(path.stem).values()}
