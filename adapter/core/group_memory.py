"""One group's memory: what its ticks say, asked by name and tick.

What terms and guards look at: the readings of this group alone, its replicas, and expressions over both. Holds only its
arguments, so that everything asked of it is a function of the ticks.
"""

from collections.abc import Sequence

from adapter.core.bounds import Replicas
from adapter.core.conditions import variables
from adapter.core.coverage import ReplicaState
from adapter.core.expressions import Expression
from adapter.core.plans import PolicyPlan
from adapter.core.readings import GroupKey
from adapter.core.series_readings import Entity, Reading
from adapter.core.ticks import Tick, replica_state


class GroupMemory:
    """The ticks of a policy as one group sees them; oldest first, the last is now."""

    def __init__(self, plan: PolicyPlan, ticks: Sequence[Tick], group: GroupKey) -> None:
        self.plan, self.ticks, self.group = plan, ticks, group
        self.now = ticks[-1]
        self.replicas = replica_state(plan, self.now, group)

    def until(self, place: int) -> "GroupMemory":
        """The memory as it was at an earlier tick."""
        return GroupMemory(self.plan, self.ticks[: place + 1], self.group)

    def reading(self, name: str, tick: Tick) -> Reading:
        """An input at a tick."""
        return tick.inputs[name].of(self.group, name)

    def replicas_at(self, tick: Tick) -> ReplicaState:
        """The replicas at a tick."""
        return self.replicas if tick is self.now else replica_state(self.plan, tick, self.group)

    def past_replicas(self, seconds: float) -> list[Replicas]:
        """N and ready pods at the ticks of the last seconds, oldest first, the last is now."""
        inside = [tick for tick in self.ticks if self.now.t - tick.t <= seconds]
        states = [(tick.t, self.replicas_at(tick)) for tick in inside]
        return [Replicas(t, state.n, state.ready) for t, state in states]

    def seen(self, name: str) -> set[Entity]:
        """Every pod that reported the input at any tick."""
        return {entity for tick in self.ticks for entity in self.reading(name, tick).values}

    def evaluated(self, expression: Expression, tick: Tick) -> bool | float | None:
        """An expression over the inputs as they were at a tick; None where it has no value."""
        replicas = self.replicas_at(tick)
        found = variables(self.plan.inputs, lambda name: self.reading(name, tick), replicas, expression.names)
        return expression.evaluate(found)
