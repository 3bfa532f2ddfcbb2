"""Fleets, overrides, schedules, budgets and shapes as policies say them, with the numbers worked out by hand."""

import pytest
from policy_world import HEAD, LIBRARY, T, one, outcomes, policy, replicas, served, tick

from adapter.core.group_names import alias
from adapter.core.policy_reading import read_policies
from adapter.core.signals import Signal

FLEET = """\
  by: {model: [meta-llama/Llama-3.1-8B, qwen]}
  overrides:
    qwen: {capacity: {rate_per_replica: 2/s}, ceiling: 3}
  inputs: {load: {query: load, unit: per_second}}
  capacity: {rate_per_replica: 10/s}
  terms: {l: {throughput: load, share: 100%}}
  publish: {metric: m, ceiling: 32}
"""


def test_a_fleet_has_a_signal_a_group_with_own_rules_and_labels_that_a_selector_can_carry() -> None:
    loaded = policy(FLEET)
    world = [
        one("load", 45, pod="a", model="meta-llama/Llama-3.1-8B"),
        one("load", 4, pod="b", model="qwen"),
        one("load", 5, pod="c", model="qwen"),
        one("load", 7, pod="d", model="new"),
    ]
    groups = outcomes(loaded, tick(loaded, world))
    shown = {group.labels["model"]: group.outcome.text for group in groups if isinstance(group.outcome, Signal)}
    # 45 ÷ 10 = 4.5; (4 + 5) ÷ 2 = 4.5, at most 3; one that is only seen has the common rules: 7 ÷ 10
    assert shown == {"meta-llama__Llama-3.1-8B": "4500m", "qwen": "3", "new": "700m"}


@pytest.mark.parametrize(
    ("value", "carried"),
    [
        ("llama", "llama"),
        ("meta-llama/Llama 3", "meta-llama__Llama__3"),
        ("/x/", "x"),
        ("é", "none"),
        ("a" * 80, "a" * 63),
    ],
)
def test_an_alias_is_a_label_value_that_kubernetes_takes(value: str, carried: str) -> None:
    assert alias(value) == carried


LIMITED = """\
  inputs: {{queue: {{query: queue, unit: count, per: [instance]}}}}
  terms: {{q: {{concurrency: queue, per_replica: 10{shape}}}}}
  publish: {{metric: m{limits}}}
"""


def test_a_gpu_budget_is_a_ceiling_of_whole_replicas() -> None:
    loaded = policy(LIMITED.format(shape="", limits=", ceiling: 32, budget: {gpus: 30, gpus_per_replica: 8}"))
    assert served(loaded, tick(loaded, [one("queue", 300, instance="a")])) == "3"


def test_a_schedule_lifts_the_floor_while_it_is_in_force() -> None:
    # T is 2027-01-15 08:00:00 UTC, a Friday.
    limits = ', floor: 1, schedule: [{cron: "0 8 * * 5", for: 1h, floor: 5}]'
    loaded = policy(LIMITED.format(shape="", limits=limits))
    world = [one("queue", 20, instance="a")]
    assert served(loaded, tick(loaded, world)) == "5"
    later = [one("queue", 20, instance="a", at=T + 3600 - 18)]
    assert served(loaded, tick(loaded, later, t=T + 3600)) == "2"


def ticks_of(spec: str, values: list[float], extra: str = "") -> list[str]:
    loaded = policy(extra + spec)
    ticks, shown = [], []
    for place, value in enumerate(values):
        t = T + 15 * place
        world = [one("queue", value, instance="a", at=t - 18, age=0), *replicas(5, 5, at=t - 18)]
        ticks.append(tick(loaded, world, t=t))
        shown.append(served(loaded, *ticks))
    return shown


REPLICAS = "  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}\n"


def test_a_shape_downwards_keeps_the_most_of_a_window() -> None:
    spec = LIMITED.format(shape=", shape: {down: {sustained: 45s}}", limits="")
    # N = 5. Demand 8, then 2: D is the most of the last three ticks, so N stays for two ticks more, then 2.
    assert ticks_of(spec, [80, 20, 20, 20], REPLICAS) == ["8", "5", "5", "2"]


def test_a_shape_upwards_asks_only_for_what_lasts() -> None:
    spec = LIMITED.format(shape=", shape: {up: {sustained: 30s}}", limits="")
    # A single tick of 80 does not raise, a second one does.
    assert ticks_of(spec, [20, 80, 80], REPLICAS) == ["2", "5", "8"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (", shape: {down: {window: 2m}}", "shape"),
        (", shape: {down: {window: 20m, take: max}}", "memory-range"),
        (", shape: {down: {window: 2m, take: median}}", "value-invalid"),
    ],
)
def test_a_shape_that_says_too_little_or_looks_too_far_is_refused(change: str, code: str) -> None:
    _, problems = read_policies(HEAD + LIMITED.format(shape=change, limits=""), "p.yaml", LIBRARY)
    assert code in [problem.code for problem in problems if problem.severity == "error"]


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (', schedule: [{cron: "0 25 * * *", for: 1h, floor: 5}]', "cron"),
        (', schedule: [{cron: "0 8 * * *", zone: Europe/Nowhere, for: 1h, floor: 5}]', "zone"),
        (', schedule: [{cron: "0 8 * * *", for: 1h}]', "schedule"),
    ],
)
def test_a_schedule_that_cannot_be_kept_is_refused(limits: str, code: str) -> None:
    _, problems = read_policies(HEAD + LIMITED.format(shape="", limits=limits), "p.yaml", LIBRARY)
    assert code in [problem.code for problem in problems]


def test_stability_is_told_by_n_and_needs_it() -> None:
    spec = LIMITED.format(shape="", limits="")
    assert ticks_of(spec, [80, 20], REPLICAS + "  stability: {step: {up: 1, down: 1}}\n") == ["6", "4"]
    _, problems = read_policies(HEAD + "  stability: {step: {up: 1}}\n" + spec, "p.yaml", LIBRARY)
    assert "replicas-required" in [problem.code for problem in problems]
