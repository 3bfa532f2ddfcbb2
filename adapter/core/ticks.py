"""Ticks: everything read for one instant of the grid.

A tick is made from answers alone and never changed, so that a memory of ticks can be fetched again and be the same.
"""

from dataclasses import dataclass, field

from adapter.core.plans import PolicyPlan
from adapter.core.readings import Answers, InputReadings, read_input

Causes = dict[tuple[str, tuple[str, ...], bool], bool | None]
"""Whether the cause of a guard, by its text, was true, for a group, with or without names of ready pods known."""


@dataclass(frozen=True, slots=True)
class Tick:
    """Everything read for one instant of the grid: `t` is when it was evaluated, `instant` what it was asked for.

    `causes` remembers what guards found here, which follows from the tick alone: with a guard of 30 minutes and a grid
    of 1 s each tick would else be judged 1,800 times. It is no part of what the tick is.
    """

    t: float
    instant: float
    inputs: dict[str, InputReadings]
    spec: InputReadings | None = None
    ready: InputReadings | None = None
    pods: InputReadings | None = None
    causes: Causes = field(default_factory=dict, compare=False, repr=False)


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
