"""Ticks: everything read for one instant of the grid.

A tick is made from answers alone and never changed, so that a memory of ticks can be fetched again and be the same.
"""

from dataclasses import dataclass

from adapter.core.plans import PolicyPlan
from adapter.core.readings import Answers, InputReadings, read_input


@dataclass(frozen=True, slots=True)
class Tick:
    """Everything read for one instant of the grid: `t` is when it was evaluated, `instant` what it was asked for."""

    t: float
    instant: float
    inputs: dict[str, InputReadings]
    spec: InputReadings | None = None
    ready: InputReadings | None = None
    pods: InputReadings | None = None


def read_tick(plan: PolicyPlan, t: float, answers: Answers) -> Tick:
    """Read all inputs of a policy from the answers asked for `t - offset`."""
    instant = t - plan.offset
    replicas = plan.replicas
    return Tick(
        t=t,
        instant=instant,
        inputs={name: read_input(one, answers, instant) for name, one in plan.inputs.items()},
        spec=read_input(replicas.spec, answers, instant) if replicas else None,
        ready=read_input(replicas.ready, answers, instant) if replicas and replicas.ready else None,
        pods=read_input(replicas.pods, answers, instant) if replicas and replicas.pods else None,
    )
