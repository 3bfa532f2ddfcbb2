"""Headlines: what a signal asks for and why, in one sentence for somebody who was just woken up.

Made from the account alone, so that the command, the page and the API say the same words. Knows no policy document.
"""

from dataclasses import dataclass
from math import ceil

from adapter.core.reasons import Missing
from adapter.core.signals import GroupSignal, NoSignal, Signal, Why


@dataclass(frozen=True, slots=True)
class Asked:
    """What a signal comes to: replicas as the HorizontalPodAutoscaler counts them, or why there are none."""

    replicas: int | None
    n: float | None
    missing: Missing | None
    decided_by: str

    @property
    def decider(self) -> str:
        """What decided without its numbers: "term load", "N 4", "no signal"."""
        return decider(self.decided_by)


def decider(decided_by: str) -> str:
    """The words of what decided, up to its numbers."""
    return decided_by.partition(":")[0].partition(",")[0]


def asked(outcome: Signal | NoSignal, published_as: str) -> Asked:
    """What the outcome asks for; of a total or ratio, the replicas that it stands for."""
    if isinstance(outcome, NoSignal):
        n = outcome.why.n if outcome.why is not None else None
        return Asked(None, n, outcome.missing, f"no signal: {outcome.missing.reason}")
    why = outcome.why
    if published_as == "replicas":
        return Asked(-(-outcome.value_milli // 1000), why.n, None, why.decided_by)
    return Asked(ceil(round(clamped(why), 3)), why.n, None, why.decided_by)


def clamped(why: Why) -> float:
    """N within [U, D], in replicas; U where N is unknown. Floor and ceiling are not in it."""
    up = why.up or 0.0
    if why.n is None or up > why.n:
        return up
    return why.n if why.down is None else min(why.n, why.down)


def headline(group: GroupSignal, published_as: str) -> str:
    """One sentence: from N to what, and why."""
    outcome = group.outcome
    now = asked(outcome, published_as)
    if isinstance(outcome, NoSignal):
        # The HPA does nothing where its only metric fails, and nothing goes where one of several does.
        return f"no value ({outcome.missing.reason}), so nothing is scaled down: {outcome.missing.message}"
    why = outcome.why
    limits = [step for step in why.steps if step.startswith(("floor ", "ceiling "))]
    limit = f", limited by {' and '.join(limits)}" if limits else ""
    if why.n is None:
        return f"asks for {now.replicas}, with N unknown, because {_because(why)}{limit}"
    if now.replicas == ceil(why.n):
        return f"stays at N {why.n:g} because {_staying(why)}{limit}"
    return f"N {why.n:g} → {now.replicas} because {_because(why)}{limit}"


def _because(why: Why) -> str:
    """Which term asks for that much, or justifies no more."""
    up, n = why.up or 0.0, why.n
    if n is None or up > n:
        return f"{decider(why.decided_by)} asks for {_number(up)}"
    if why.down is not None and why.down < n:
        return f"{decider(why.decided_by)} justifies no more than {_number(why.down)}"
    return f"{_staying(why)}"


def _staying(why: Why) -> str:
    up, n = why.up or 0.0, why.n or 0.0
    if up > n or (why.down is not None and why.down < n):  # and yet N, by rounding or by a limit
        return _because(why)
    downs = [term.down for term in why.terms if term.down is not None]
    guards = [guard.text for guard in why.guards if guard.is_holding and guard.direction == "down"]
    if guards and len(downs) == len(why.terms) and max(downs, default=n) < n:
        return f"the terms justify no more than {_number(max(downs))}, but nothing may go ({'; '.join(guards)})"
    if why.down is None:
        unknown = [one.name for one in why.inputs if one.reason is not None]
        unbounded = next((term for term in why.terms if term.down is None), None)
        because = f", since {', '.join(unknown)} cannot be told" if unknown else ""
        if not unknown and unbounded is not None:
            because = f", since term {unbounded.name} bounds nothing ({unbounded.text})"
        return f"{_number(up)} are needed and nothing says how many may go{because}"
    if up == why.down:
        return "just as many are needed"
    return f"anything from {_number(up)} to {_number(why.down)} is justified"


def _number(replicas: float) -> str:
    return f"{round(replicas, 2):g}"
