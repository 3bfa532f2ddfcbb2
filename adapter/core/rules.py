"""Rules: everything of a policy that is computed, planned once: terms, guards, combination, bounds and limits.

What is read stands in plans; what is done with it stands here. Made when a policy is loaded.
"""

from dataclasses import dataclass, field

from adapter.core.bounds import BoundsPlan
from adapter.core.combining import CombinePlan
from adapter.core.demand import TermPlan
from adapter.core.guards import GuardPlan
from adapter.core.policy import Policy
from adapter.core.schedules import SchedulePlan, limits


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one policy; `overrides` are those of groups that have own ones, by the group's key."""

    terms: tuple[TermPlan, ...]
    guards: tuple[GuardPlan, ...] = ()
    combine: CombinePlan = field(default_factory=CombinePlan)
    bounds: BoundsPlan = field(default_factory=BoundsPlan)
    schedules: tuple[SchedulePlan, ...] = ()
    floor: float | None = None
    ceiling: float | None = None
    overrides: dict[str, "Rules"] = field(default_factory=dict)

    def limits_at(self, t: float) -> tuple[float | None, float | None, list[str]]:
        """Floor and ceiling at an instant: the highest and the lowest of what is said, with the schedules in force."""
        floor, ceiling, words = limits(self.schedules, t) if self.schedules else (None, None, [])
        floors = [one for one in (self.floor, floor) if one is not None]
        ceilings = [one for one in (self.ceiling, ceiling) if one is not None]
        return max(floors, default=None), min(ceilings, default=None), words


def plan_bounds(policy: Policy) -> BoundsPlan:
    """The bounds that a policy asks for."""
    said = policy.spec.stability
    return BoundsPlan(
        hysteresis_up=said.hysteresis.up,
        hysteresis_down=said.hysteresis.down,
        step_up=said.step.up,
        step_down=said.step.down,
        cooldown_up=said.cooldown.up,
        cooldown_down=said.cooldown.down,
        credit_deadline=said.credit,
    )


def plan_schedules(policy: Policy) -> tuple[SchedulePlan, ...]:
    """The schedules of a policy."""
    return tuple(
        SchedulePlan(one.cron, one.zone, one.for_, one.floor, one.ceiling) for one in policy.spec.publish.schedule
    )


def plan_ceiling(policy: Policy) -> float | None:
    """The lower of the ceiling that is written and the one that the GPUs allow."""
    said = policy.spec.publish
    ceilings = [said.ceiling, said.budget.ceiling if said.budget is not None else None]
    return min((one for one in ceilings if one is not None), default=None)
