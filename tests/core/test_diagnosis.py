"""Diagnosis: what limits a workload, and whether more replicas help, in the situations that operators know."""

import pytest
from policy_world import LIBRARY, one, outcome, policy, replicas, served, tick

from adapter.core.diagnosis import Diagnosis, diagnose
from adapter.core.samples import Series
from adapter.core.signals import Signal

TABLE = LIBRARY.diagnoses


@pytest.mark.parametrize(
    ("roles", "name", "helps"),
    [
        ({"gpu": 0.98, "vram": 0.97, "queue": 40.0, "hit_ratio": 0.1}, "cache-miss-driven", True),
        ({"gpu": 0.98, "vram": 0.97, "queue": 40.0}, "vram-bound", True),
        ({"gpu": 0.98}, "gpu-bound", True),
        ({"gpu": 0.9, "kv": 0.9, "hit_ratio": 0.1}, "kv-bound", True),
        ({"gpu": 0.2, "throttled": 0.5, "queue": 9.0}, "host-bound", False),
        ({"gpu": 0.6, "memory": 0.97}, "memory-bound", False),
        ({"gpu": 0.5, "drift": 0.8}, "drifting", False),
        ({"gpu": 0.03, "queue": 0.0}, "idle", False),
        ({"gpu": 0.5, "queue": 0.0}, None, None),
        ({}, None, None),
    ],
)
def test_the_first_row_that_is_true_names_the_bottleneck(
    roles: dict[str, float], name: str | None, helps: bool | None
) -> None:
    found = diagnose(TABLE, roles)
    assert (found.name if found else None, found.replicas_help if found else None) == (name, helps)


def test_every_row_says_what_to_do_and_has_a_name_of_its_own() -> None:
    assert len({row.name for row in TABLE.diagnoses}) == len(TABLE.diagnoses)
    assert all(len(row.about) > 20 for row in TABLE.diagnoses)


HOST = """\
  replicas: {preset: kube/deployment-replicas, match: {deployment: d}}
  inputs:
    gpu: {query: gpu, unit: ratio, role: gpu}
    cpu: {query: throttled, unit: ratio, role: throttled}
    queue: {query: queue, unit: count, per: [instance], role: queue}
    drift: {query: drift, unit: ratio, per: [instance], role: drift}
  terms:
    batch: {concurrency: queue, per_replica: 10}
  guards:
    - {hold_scale_up: {when: host_bound, for: 1m}}
    - {hold_scale_down: {when: drifting, for: 1m}}
  publish: {metric: m}
"""


def world(gpu: float, throttled: float, queue: float, drift: float, n: int = 2) -> list[Series]:
    pods = [f"d-{i}" for i in range(n)]
    return [
        *[one("gpu", gpu, pod=pod) for pod in pods],
        *[one("throttled", throttled, pod=pod) for pod in pods],
        one("queue", queue, instance="gw"),
        one("drift", drift, instance="job"),
        *replicas(n, n),
    ]


def test_a_host_bound_workload_gets_no_more_replicas_and_the_account_says_why() -> None:
    loaded = policy(HOST)
    # The queue would ask for 9, but the GPUs wait for a throttled CPU.
    result = outcome(loaded, tick(loaded, world(0.2, 0.5, 90, 0.1)))
    assert isinstance(result, Signal)
    assert result.text == "2"
    assert result.why.diagnosis == Diagnosis(
        "host-bound",
        False,
        "The GPU waits for a throttled CPU. Raise the CPU limit; more replicas would idle their GPUs too.",
    )
    assert served(loaded, tick(loaded, world(0.95, 0.0, 90, 0.1))) == "9"
    # What cannot be judged stops nothing from coming.
    unknown = [series for series in world(0.2, 0.5, 90, 0.1) if dict(series.labels)["__name__"] != "throttled"]
    assert served(loaded, tick(loaded, unknown)) == "9"


def test_a_drift_holds_and_says_so() -> None:
    loaded = policy(HOST)
    result = outcome(loaded, tick(loaded, world(0.5, 0.0, 5, 0.9)))
    assert isinstance(result, Signal)
    # The queue would do with half a replica.
    assert result.text == "2"
    assert result.why.diagnosis is not None
    assert result.why.diagnosis.name == "drifting"


def test_every_preset_that_a_role_names_exists() -> None:
    inputs, _ = LIBRARY.names()
    named = [preset for presets in LIBRARY.diagnoses.roles.values() for preset in presets]
    assert [preset for preset in named if preset not in inputs] == []
