"""What one policy shows of a tick as a single word: its value, or why it has none.

The adapter's own metrics tell it, a recording keeps it, and `scaleproof verify` works it out again; all three by this
one function, so that a difference is never one of wording.
"""

from collections.abc import Sequence

from adapter.core.quantity import write_milli
from adapter.core.reasons import Reason
from adapter.core.signals import GroupSignal, NoSignal, Signal


def value_milli_of(groups: Sequence[GroupSignal]) -> int | None:
    """The value; of several groups the largest, None where no group has one."""
    return max((one.outcome.value_milli for one in groups if isinstance(one.outcome, Signal)), default=None)


def reasons_of(groups: Sequence[GroupSignal]) -> tuple[str, ...]:
    """Why there is no value, in the order of the alphabet; none where there is one."""
    if value_milli_of(groups) is not None:
        return ()
    found = {str(one.outcome.missing.reason) for one in groups if isinstance(one.outcome, NoSignal)}
    return tuple(sorted(found)) or (str(Reason.EMPTY),)


def value_or_reason(groups: Sequence[GroupSignal]) -> str:
    """The quantity on the wire, e.g. "3400m", or the reasons; no reason begins like a number."""
    value = value_milli_of(groups)
    return joined(reasons_of(groups)) if value is None else write_milli(value)


def joined(reasons: Sequence[str]) -> str:
    """Several reasons as one word."""
    return "+".join(sorted(reasons))
