"""Guard causes: whether each guard's cause was true at each tick of one group's memory, and so whether it holds now."""

from collections.abc import Iterable, Sequence
from functools import partial

from adapter.core.demand import TermPlan
from adapter.core.group_memory import GroupMemory
from adapter.core.guards import GOOD_TICKS_AFTER_A_GAP, GuardPlan, Held, judge
from adapter.core.reasons import Reason
from adapter.core.ticks import Tick


def held(memory: GroupMemory, terms: Sequence[TermPlan], guards: Sequence[GuardPlan]) -> list[Held]:
    """What each guard says, and the rule after a gap."""
    times = [tick.t for tick in memory.ticks] if guards else []
    found = [judge(guard, times, partial(_cause_at, memory, guard)) for guard in guards]
    lately = reversed(memory.ticks[-1 - GOOD_TICKS_AFTER_A_GAP :])
    names = {name for term in terms for name in term.inputs}
    since_gap = next((place for place, tick in enumerate(lately) if names and is_gap(memory, names, tick)), None)
    if since_gap and memory.replicas.n is not None:  # without N there is nothing to hold on to
        found.append(Held(since_gap < GOOD_TICKS_AFTER_A_GAP, f"after a gap: {since_gap} good ticks"))
    return found


def _cause_at(memory: GroupMemory, guard: GuardPlan, place: int) -> bool | None:
    """The cause at a tick, judged once: of the rest of the memory it depends on `had_names` alone."""
    tick, key = memory.ticks[place], (guard.text, memory.group, memory.had_names)
    try:
        return tick.causes[key]
    except KeyError:
        found = tick.causes[key] = cause(memory, guard, tick)
        return found


def is_gap(memory: GroupMemory, names: Iterable[str], tick: Tick) -> bool:
    """Whether none of the inputs had a value at the tick."""
    return all(memory.reading(name, tick).failure is not None for name in names)


def cause(memory: GroupMemory, guard: GuardPlan, tick: Tick) -> bool | None:
    """Whether the guard's cause was true at the tick; None where that is unknown."""
    if guard.condition is not None:
        result = memory.evaluated(guard.condition, tick)
        return result if isinstance(result, bool) else None
    if guard.alert_input is not None:
        reading = memory.reading(guard.alert_input, tick)
        is_absent = reading.failure is not None and reading.failure.reason is Reason.EMPTY
        if reading.failure is not None and not is_absent:
            return None
        return any(measured.value > 0 for measured in reading.values.values())
    reading = memory.reading(guard.event_input or "", tick)
    if reading.failure is not None:
        return None
    latest = max(measured.value for measured in reading.values.values())
    return latest > tick.instant - memory.plan.every
