"""One group's memory: what its ticks say, asked by name and tick.

What terms and guards look at: the readings of this group alone, its replicas, and expressions over both. Holds only its
arguments, so that everything asked of it is a function of the ticks.
"""

from collections.abc import Sequence

from adapter.core.bounds import Replicas
from adapter.core.conditions import variables
from adapter.core.coverage import Seen
from adapter.core.diagnosis import Diagnosis, diagnose, truths
from adapter.core.expressions import Expression
from adapter.core.plans import PolicyPlan
from adapter.core.readings import GroupKey
from adapter.core.replica_states import ReplicaState, replica_state
from adapter.core.series_readings import Entity, Part, Reading
from adapter.core.tick_memory import TickMemory
from adapter.core.ticks import Tick


class GroupMemory:
    """The ticks of a policy as one group sees them; oldest first, the last is now."""

    def __init__(self, plan: PolicyPlan, ticks: Sequence[Tick], group: GroupKey) -> None:
        self.plan, self.ticks, self.group = plan, ticks, group
        self.now = ticks[-1]
        self._seen: dict[str, Seen] = {}
        if isinstance(ticks, TickMemory):
            self._had_names = ticks.had_names(group)
        else:
            self._had_names = any(tick.pods.of(group, "ready pods").values for tick in ticks if tick.pods is not None)
        self.replicas = self._replicas(self.now)

    @property
    def had_names(self) -> bool:
        """Whether names of ready pods were told at any of the ticks."""
        return self._had_names

    def until(self, place: int) -> "GroupMemory":
        """The memory as it was at an earlier tick."""
        return GroupMemory(self.plan, self.ticks[: place + 1], self.group)

    def reading(self, name: str, tick: Tick) -> Reading:
        """An input at a tick."""
        return tick.inputs[name].of(self.group, name)

    def replicas_at(self, tick: Tick) -> ReplicaState:
        """The replicas at a tick."""
        return self.replicas if tick is self.now else self._replicas(tick)

    def _replicas(self, tick: Tick) -> ReplicaState:
        if tick.spec is None:
            return ReplicaState()
        ready = None if tick.ready is None else tick.ready.of(self.group, "ready pods")
        pods = None if tick.pods is None else tick.pods.of(self.group, "names of ready pods")
        return replica_state(tick.spec.of(self.group, "replicas"), ready, pods, had_names=self._had_names)

    def past_replicas(self, seconds: float) -> list[Replicas]:
        """N and ready pods at the ticks of the last seconds, oldest first, the last is now."""
        inside = [self.now] if seconds == 0 else [tick for tick in self.ticks if self.now.t - tick.t <= seconds]
        states = [(tick.t, self.replicas_at(tick)) for tick in inside]
        return [Replicas(t, state.n, state.ready) for t, state in states]

    def seen(self, name: str) -> Seen:
        """The pods of an input within the memory, each with all its parts."""
        if isinstance(self.ticks, TickMemory):
            return self.ticks.seen(name, self.group)
        if name not in self._seen:
            seen: dict[Entity, frozenset[Part]] = {}
            for tick in self.ticks:
                for entity, measured in self.reading(name, tick).values.items():
                    before = seen.get(entity, measured.parts)
                    seen[entity] = before if before >= measured.parts else before | measured.parts
            self._seen[name] = seen
        return self._seen[name]

    def role_values(self, tick: Tick) -> dict[str, float]:
        """The values of the roles that the diagnoses speak of, at a tick."""
        inputs = {role: self.plan.inputs[name] for role, name in self.plan.roles.items()}
        return variables(
            inputs, lambda role: self.reading(self.plan.roles[role], tick), self.replicas_at(tick), self.plan.roles
        )

    def diagnosis(self) -> Diagnosis | None:
        """What limits the workload now."""
        return diagnose(self.plan.diagnoses, self.role_values(self.now)) if self.plan.roles else None

    def evaluated(self, expression: Expression, tick: Tick) -> bool | float | None:
        """An expression over the inputs as they were at a tick; None where it has no value."""
        found: dict[str, float] = variables(
            self.plan.inputs, lambda name: self.reading(name, tick), self.replicas_at(tick), expression.names
        )
        if any(name in self.plan.diagnoses.names for name in expression.names):
            found = {**truths(self.plan.diagnoses, self.role_values(tick)), **found}
        return expression.evaluate(found)
