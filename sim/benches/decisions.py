"""Bench "decisions": how many HPA decisions the model makes a second, from the functions every replay uses.

The load is the same each time: four HPAs (one or two External metrics, with and without `behavior`, 300 s window) over
a wave that scales them up and down. Beside it: with the account of each decision; the floor, which is a loop that
builds the same observations and calls a function that decides nothing; the real controller in virtual time, where
`build/oracle` exists.
"""

import json
import math
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

from sim.hpa.account import Account
from sim.hpa.flags import NANOSECONDS_PER_SECOND, ControllerFlags
from sim.hpa.observation import Observation
from sim.hpa.reconcile import Decision, reconcile
from sim.hpa.spec import DEFAULT_DOWN, DEFAULT_UP, Autoscaler, Behavior, Metric, MetricKind, Spec, TargetType, resolve
from sim.hpa.state import State
from sim.measurements import Measurement, take

SYNCS = 1000
PERIOD_NS = 15 * NANOSECONDS_PER_SECOND
ORACLE = Path("build/oracle")
ORACLE_TIMEOUT_SECONDS = 120

METRICS = (
    Metric(MetricKind.EXTERNAL, "queue", TargetType.AVERAGE_VALUE, 10_000),
    Metric(MetricKind.EXTERNAL, "rate", TargetType.VALUE, 5_000),
)
SPECS = tuple(
    Spec(1, 100, METRICS[:count], behavior)
    for count in (1, 2)
    for behavior in (None, Behavior(DEFAULT_UP, DEFAULT_DOWN))
)
# A wave between 5 and 95 replicas' worth in 250 syncs, in milli-units.
LOADS = tuple(int(500_000 + 450_000 * math.sin(index / 40)) for index in range(SYNCS))

Decide = Callable[[Autoscaler, State, Observation, int, Account | None], Decision]


def measure(seconds: float) -> list[Measurement]:
    """The decisions, and what to compare them with."""
    autoscalers = [resolve(spec, ControllerFlags()) for spec in SPECS]
    measurements = [
        take("decisions", "decisions", seconds, lambda: _decide(autoscalers, reconcile, with_account=False)),
        take(
            "account", "with the account of each", seconds, lambda: _decide(autoscalers, reconcile, with_account=True)
        ),
        take("floor", "floor: the loop alone", seconds, lambda: _decide(autoscalers, _nothing, with_account=False)),
    ]
    oracle = _oracle()
    return [*measurements, oracle] if oracle else measurements


def _decide(autoscalers: list[Autoscaler], decide: Decide, with_account: bool) -> int:
    for autoscaler in autoscalers:
        is_single = len(autoscaler.metrics) == 1
        state, replicas, now = State(), 5, 0
        for load in LOADS:
            now += PERIOD_NS
            readings = ((load,),) if is_single else ((load,), (load // replicas // 2,))
            seen = Observation(replicas, replicas, replicas, readings)
            decision = decide(autoscaler, state, seen, now, Account() if with_account else None)
            state, replicas = decision.state, decision.replicas
    return SYNCS * len(autoscalers)


def _nothing(hpa: Autoscaler, state: State, seen: Observation, now: int, account: Account | None) -> Decision:
    return Decision(state, seen.spec_replicas, False)


def _oracle() -> Measurement | None:
    """The rate of the unmodified controller over one metric of the same wave; None where it is not built."""
    if not ORACLE.exists():
        return None
    behavior = {"scaleDown": {"stabilizationWindowSeconds": 300}}
    metric = {"type": "External", "name": "queue", "targetType": "AverageValue", "target": "10"}
    scenario = {
        "name": "wave",
        "hpa": {"minReplicas": 1, "maxReplicas": 100, "metrics": [metric], "behavior": behavior},
        "controller": {},
        "initialReplicas": 5,
        "steps": [{"metrics": {"queue": [load]}} for load in LOADS],
    }
    lines = (json.dumps(scenario) + "\n") * 5
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        subprocess.run(  # noqa: S603  # the project's own binary, no shell
            [ORACLE, "run"], input=lines.encode(), capture_output=True, check=True, timeout=ORACLE_TIMEOUT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measurement("oracle", "the real controller, virtual time", 5 * SYNCS / spent, after.ru_maxrss / 2**10)
