"""The log of signals: one line when one comes, goes or goes for another reason, with the inputs that made it so.

Not at every tick: what stays as it is says nothing. Knows only what the last tick of each policy was.
"""

from collections.abc import Mapping, Sequence

import structlog

from adapter.core.samples import Labels, labels_of
from adapter.core.signals import GroupSignal, InputWhy, NoSignal, Signal

MAX_LINES = 10
"""Groups of a policy that have a line each at one tick; a fleet that loses Prometheus has one for all others."""

_log = structlog.get_logger("scaleproof.signals")

Key = tuple[str, str]


class SignalLog:
    """The state of every group as of the last tick."""

    def __init__(self) -> None:
        self._states: dict[Key, dict[Labels, str]] = {}

    def evaluated(self, key: Key, t: float, groups: Sequence[GroupSignal], seconds: float) -> None:
        """Tell which groups changed their state at a tick."""
        # The states are made anew, so that groups that are gone take no room.
        before, states = self._states.get(key, {}), {}
        changed = []
        for group in groups:
            labels = labels_of(group.labels)
            states[labels] = _state(group)
            if before.get(labels) != states[labels]:
                changed.append(group)
        self._states[key] = states
        for group in changed[:MAX_LINES]:
            _tell(key, t, group)
        rest: dict[str, int] = {}
        for group in changed[MAX_LINES:]:
            rest[_state(group)] = rest.get(_state(group), 0) + 1
        for state, count in rest.items():
            _log.warning("more-groups-changed", policy="/".join(key), t=t, state=state, groups=count)
        _log.debug("evaluated", policy="/".join(key), t=t, groups=len(groups), seconds=round(seconds, 4))

    def withdrawn(self, key: Key) -> None:
        """Forget a policy."""
        self._states.pop(key, None)


def _state(group: GroupSignal) -> str:
    outcome = group.outcome
    return outcome.missing.reason if isinstance(outcome, NoSignal) else "signal"


def _tell(key: Key, t: float, group: GroupSignal) -> None:
    outcome = group.outcome
    about: dict[str, object] = {"policy": "/".join(key), "t": t}
    about.update({f"label_{name}": value for name, value in group.labels.items()})
    about.update(_inputs(outcome))
    if isinstance(outcome, NoSignal):
        _log.warning("no-signal", reason=outcome.missing.reason, message=outcome.missing.message, **about)
    else:
        _log.info("signal", value=outcome.text, decided_by=outcome.why.decided_by, **about)


def _inputs(outcome: Signal | NoSignal) -> Mapping[str, str]:
    """What was read, and N and the ready pods where they are known."""
    why = outcome.why
    if why is None:
        return {}
    found = {f"input_{one.name}": _shown(one) for one in why.inputs}
    counts = {"n": why.n, "ready": why.ready}
    return {**found, **{name: f"{count:g}" for name, count in counts.items() if count is not None}}


def _shown(one: InputWhy) -> str:
    """An input in a few characters: `70`, `140 of 2 pods`, `stale`, `140 of 2 pods, stale`."""
    parts = []
    if one.total is not None:
        parts.append(f"{one.total:.6g} of {one.pods} pods" if one.pods > 1 else f"{one.total:.6g}")
    if one.reason is not None:
        parts.append(one.reason)
    return ", ".join(parts) or "none"
