"""Scale events: the controller's own rescales, remembered for the policies.

Follows storeScaleEvent and markScaleEventsOutdated of horizontal.go. Events die by the longest period of their own
direction, though the other direction's policies count them too.
"""

from sim.hpa.spec import Direction
from sim.hpa.state import ScaleEvent


def store_event(events: tuple[ScaleEvent, ...], change: int, now: int, rules: Direction) -> tuple[ScaleEvent, ...]:
    """The events of one direction with a new one, in the last slot that is outdated if there is one."""
    cutoff = now - rules.longest_period_ns
    kept: list[ScaleEvent] = []
    outdated = -1
    for index, event in enumerate(events):
        if event.is_outdated or event.time_ns < cutoff:
            outdated = index
            event = ScaleEvent(event.change, event.time_ns, True)
        kept.append(event)
    new = ScaleEvent(change, now, False)
    if outdated < 0:
        kept.append(new)
    else:
        kept[outdated] = new
    return tuple(kept)
