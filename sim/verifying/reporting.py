"""What `scaleproof verify` says, as text and as plain data; times as on a clock, in UTC."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum

from sim.verifying.decisions import Change, DecisionDifference, Decisions
from sim.verifying.values import ValueDifference, Values


class Verdict(StrEnum):
    """How a period compares."""

    EQUAL = "equal"
    DIFFERENT = "different"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True, slots=True)
class Verified:
    """One recording, compared; `missing` tells what was to be compared and is not in it."""

    recording: str
    policy: str
    notes: tuple[str, ...]
    values: Values
    decisions: Decisions | None
    missing: tuple[str, ...]
    sync: float

    @property
    def verdict(self) -> Verdict:
        """A difference counts, whatever else is missing."""
        if self.values.first is not None or (self.decisions is not None and self.decisions.first is not None):
            return Verdict.DIFFERENT
        return Verdict.INCONCLUSIVE if self.missing else Verdict.EQUAL

    def as_data(self) -> dict[str, object]:
        """Plain data for JSON; times are epoch seconds."""
        return {
            "recording": self.recording,
            "policy": self.policy,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "missing": list(self.missing),
            "values": asdict(self.values),
            "decisions": None if self.decisions is None else asdict(self.decisions),
        }

    def lines(self) -> Iterator[str]:
        """The text."""
        yield f"{self.policy} in {self.recording}"
        yield from (f"note: {one}" for one in self.notes)
        yield from _value_lines(self.values)
        if self.decisions is not None:
            yield from _decision_lines(self.decisions, self.sync)
        yield from (f"missing: {one}" for one in self.missing)
        yield str(self.verdict)


def _value_lines(values: Values) -> Iterator[str]:
    equal = values.compared - values.differences
    unseen = values.ticks - values.compared
    told = f"{equal} of {values.compared} ticks equal; {values.refusals} were refusals"
    yield f"values: {told}; {unseen} more no scrape saw"
    if values.first is not None:
        yield from _value_difference(values.first)


def _value_difference(one: ValueDifference) -> Iterator[str]:
    adapter = dict(one.adapter).get("pod") or dict(one.adapter).get("instance")
    yield f"first difference at {clock_time(one.t)} ({one.t:.15g}):"
    yield f"  served    {one.served}{f' by {adapter}' if adapter else ''}"
    yield from (f"            {line}" for line in one.served_why)
    yield f"  replayed  {one.replayed}"
    yield from (f"            {line}" for line in one.why)
    yield f"  cause     {one.cause}"


def _decision_lines(decisions: Decisions, sync: float) -> Iterator[str]:
    fit = f"syncs every {sync:g} s from {decisions.phase:g} s on, {decisions.latency * 1000:g} ms each"
    changes = "1 change" if decisions.changes == 1 else f"{decisions.changes} changes"
    yield f"decisions: {changes} of {decisions.source}; the model fits best with {fit}"
    if decisions.first is None:
        yield f"  the model makes the same changes, each within {sync:g} s"
        return
    yield from _decision_difference(decisions.first)


def _decision_difference(one: DecisionDifference) -> Iterator[str]:
    yield "first difference:"
    yield f"  recorded  {_change(one.recorded)}"
    yield f"  replayed  {_change(one.modelled)}"
    yield from (f"            {line}" for line in one.account)


def _change(one: Change | None) -> str:
    if one is None:
        return "no further change"
    if one.after == one.at:
        return f"{one.before} → {one.replicas} at {clock_time(one.at)}"
    return f"{one.before} → {one.replicas} between {clock_time(one.after)} and {clock_time(one.at)}"


def clock_time(t: float) -> str:
    """An instant in UTC, to the millisecond."""
    return datetime.fromtimestamp(t, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
