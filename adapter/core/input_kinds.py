"""Kinds of inputs: what a number tells, and whether replicas can be scaled on it.

A term divides what it reads by what one replica takes. That is wrong for what stops growing when the replicas are full,
and for what more replicas leave as it is; such an input is for conditions, guards and expressions.
"""

from enum import StrEnum


class Kind(StrEnum):
    """What an input tells."""

    GAUGE = "gauge"
    ARRIVALS = "arrivals"
    COMPLETIONS = "completions"  # a rate that saturates at capacity
    BOUNDED = "bounded"  # a number that stops growing when the replica is full
    CONDITION = "condition"  # a state that more replicas do not divide, e.g. a temperature or a hit ratio
    HISTOGRAM = "histogram"
    EVENT = "event"


UNFIT: dict[Kind, tuple[str, str, str]] = {
    Kind.COMPLETIONS: (
        "completions-saturate",
        "completions saturate at capacity, so they never ask for more; throughput wants arrivals",
        "use the family's request-arrivals, e.g. vllm/request-arrivals, or the gateway's request counter",
    ),
    Kind.BOUNDED: (
        "bounded-saturates",
        "it stops growing when the replicas are full, so it never tells how much more is wanted",
        "use what nothing bounds, e.g. vllm/requests-in-flight, or read it in a when or an expression",
    ),
    Kind.CONDITION: (
        "condition-only",
        "it tells a state that more replicas do not divide, so no number of replicas follows from it",
        "read it in a when, a guard or an expression",
    ),
    Kind.EVENT: (
        "condition-only",
        "it tells when something last happened, so no number of replicas follows from it",
        "write guards: [{hold_scale_down: {after: oom-kill, for: 10m, max: 30m}}]",
    ),
}
"""Of the kinds that no dividing term takes: the problem's code, why, and the fix."""
