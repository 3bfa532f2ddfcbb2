"""Ticks: everything read for one instant of the grid.

A tick is made from answers alone and never changed, so that a memory of ticks can be fetched again and be the same.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar

from adapter.core.plans import PolicyPlan
from adapter.core.readings import Answers, InputReadings, read_input
from adapter.core.reasons import Missing
from adapter.core.series_readings import Entity, Measured, Reading

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


Known = dict[Hashable, Hashable]
"""Names of groups, pods and parts, each equal to itself: which object stands for all that are equal."""

_Name = TypeVar("_Name", bound=Hashable)
_NOTHING_BAD: Mapping[Entity, Missing] = {}


def shared(tick: Tick, known: Known) -> tuple[Tick, Known]:
    """The same tick, with the names that an earlier one of the same policy has, and what is known for the next.

    The pods of two ticks are most often the same, but every answer brings their names anew: of the 1.4 KiB that a tick
    of one pod takes, 0.4 are names, and a policy keeps 40 of them or more.
    """
    used: Known = {}

    def name(one: _Name) -> _Name:
        found = known.get(one, one)
        used[one] = found
        return found  # type: ignore[return-value]  # equal to `one`, so of its type

    def readings(ones: InputReadings) -> InputReadings:
        groups = {}
        for group, reading in ones.groups.items():
            values = {
                name(entity): Measured(one.value, one.time, one.is_late, name(one.parts))
                for entity, one in reading.values.items()
            }
            groups[name(group)] = Reading(values, reading.bad or _NOTHING_BAD, reading.failure, reading.notes)
        return InputReadings(groups, ones.failure)

    made = replace(
        tick,
        inputs={key: readings(one) for key, one in tick.inputs.items()},
        spec=readings(tick.spec) if tick.spec is not None else None,
        ready=readings(tick.ready) if tick.ready is not None else None,
        pods=readings(tick.pods) if tick.pods is not None else None,
    )
    return made, used
