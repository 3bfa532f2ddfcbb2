"""The status of a ScalingPolicy: two conditions and the value of the moment, from what was made of the object.

`Accepted` tells whether the document is in force and what is wrong with it; `Active` whether there is a signal, with
its value or the reason why not. Pure: what stood there before comes in, so that a condition keeps the time at which it
last changed, and two adapters that see the same write the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from adapter.core.quantity import write_milli
from adapter.core.reasons import Missing
from adapter.core.signals import GroupSignal, NoSignal, Signal

Status = dict[str, Any]
ACCEPTED, ACTIVE = "Accepted", "Active"
NOT_IN_FORCE = "NotInForce"
MAX_MESSAGE_CHARACTERS = 10_000
_VALUE_KEYS = ("value", "replicas", "decidedBy", "lastEvaluationTime")


class Judgement(StrEnum):
    """What was made of a document."""

    ACCEPTED = "Accepted"
    INVALID = "Invalid"
    CONFLICTED = "Conflicted"


@dataclass(frozen=True, slots=True)
class InForce:
    """The version of a policy that is in force: the generation of the object that it was, and its spec."""

    generation: int
    spec: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was made of an object: of which generation, why it is not in force, and what is instead."""

    generation: int
    judgement: Judgement
    message: str
    in_force: InForce | None


@dataclass(frozen=True, slots=True)
class Shown:
    """The signals of a policy in force, at the tick t; `missing` where the policy as a whole has none."""

    t: float | None
    groups: Sequence[GroupSignal] = ()
    missing: Missing | None = None


def status_of(verdict: Verdict, shown: Shown, now: float, before: Mapping[str, Any]) -> Status:
    """The status to write."""
    earlier = _by_type(before, ACTIVE)
    if shown.t is None and verdict.in_force is not None and earlier.get("reason") not in (None, NOT_IN_FORCE):
        # An adapter that has just started knows less than what stands there, which may be its neighbour's.
        state, reason, message = (str(earlier.get(key, "")) for key in ("status", "reason", "message"))
        kept: Status = {key: before[key] for key in _VALUE_KEYS if key in before}
    else:
        state, reason, message = _active(verdict, shown)
        kept = {**({"lastEvaluationTime": _time(shown.t)} if shown.t is not None else {}), **_value(shown)}
    accepted = "True" if verdict.judgement is Judgement.ACCEPTED else "False"
    status: Status = {
        "observedGeneration": verdict.generation,
        "conditions": [
            _condition(ACCEPTED, accepted, verdict.judgement, _accepted_message(verdict), verdict, now, before),
            _condition(ACTIVE, state, reason, message, verdict, now, before),
        ],
    }
    if verdict.in_force is None:
        return status
    status.update(kept)
    if verdict.judgement is not Judgement.ACCEPTED:
        status["inForce"] = {"generation": verdict.in_force.generation, "spec": dict(verdict.in_force.spec)}
    return status


def is_same(status: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether nothing has changed but the time of the evaluation."""
    return _timeless(status) == _timeless(before)


def is_turn(status: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
    """Whether more has changed than numbers: another generation, or a condition that turned."""
    return _turning(status) != _turning(before)


def accepted_before(status: Mapping[str, Any]) -> InForce | None:
    """The version that an adapter kept in force, by the status that it wrote."""
    kept = status.get("inForce")
    if not isinstance(kept, dict) or not isinstance(kept.get("spec"), dict):
        return None
    generation = kept.get("generation")
    return InForce(generation if isinstance(generation, int) else 0, kept["spec"])


def _timeless(status: Mapping[str, Any]) -> Status:
    return {key: value for key, value in status.items() if key != "lastEvaluationTime"}


def _turning(status: Mapping[str, Any]) -> object:
    conditions = [(one.get("type"), one.get("status"), one.get("reason")) for one in status.get("conditions") or ()]
    accepted = [one.get("message") for one in status.get("conditions") or () if one.get("type") == ACCEPTED]
    return (status.get("observedGeneration"), conditions, accepted, (status.get("inForce") or {}).get("generation"))


def _accepted_message(verdict: Verdict) -> str:
    if verdict.judgement is Judgement.ACCEPTED:
        return f"in force, with warnings:\n{verdict.message}" if verdict.message else "in force"
    if verdict.judgement is Judgement.CONFLICTED:
        kept = "It is not in force."
    elif verdict.in_force is None:
        kept = "No accepted version of it is known, so nothing is in force."
    else:
        kept = f"The last accepted version, generation {verdict.in_force.generation}, stays in force."
    return f"{verdict.message}\n{kept}"


def _active(verdict: Verdict, shown: Shown) -> tuple[str, str, str]:
    """Status, reason and message of the condition."""
    if verdict.in_force is None:
        return "False", NOT_IN_FORCE, "the policy is not in force; see the condition Accepted"
    if shown.missing is not None:
        return "False", _camel(shown.missing.reason), str(shown.missing)
    absent = [(group, group.outcome) for group in shown.groups if isinstance(group.outcome, NoSignal)]
    if absent:
        group, outcome = absent[0]
        words = str(outcome.missing)
        if len(shown.groups) > 1:
            labels = ", ".join(f"{name}={value}" for name, value in sorted(group.labels.items()))
            words = f"{len(absent)} of {len(shown.groups)} groups have no signal, first {labels}: {words}"
        return "False", _camel(outcome.missing.reason), words
    signals = [group.outcome for group in shown.groups if isinstance(group.outcome, Signal)]
    match signals:
        case []:
            return "False", "Empty", "empty: no group has been seen"
        case [one]:
            return "True", "Signal", f"{one.text}: {one.why.decided_by}"
        case _:
            values = [one.value_milli for one in signals]
            return "True", "Signal", f"{len(values)} groups, {write_milli(min(values))} to {write_milli(max(values))}"


def _value(shown: Shown) -> Status:
    """What one group says; several have no one value."""
    if len(shown.groups) != 1 or shown.missing is not None:
        return {}
    outcome = shown.groups[0].outcome
    found: Status = {}
    if outcome.why is not None and outcome.why.n is not None:
        found["replicas"] = round(outcome.why.n)
    if isinstance(outcome, Signal):
        found |= {"value": outcome.text, "decidedBy": outcome.why.decided_by}
    return found


def _condition(
    kind: str, state: str, reason: str, message: str, verdict: Verdict, now: float, before: Mapping[str, Any]
) -> Status:
    earlier = _by_type(before, kind)
    since = earlier.get("lastTransitionTime") if earlier.get("status") == state else None
    if len(message) > MAX_MESSAGE_CHARACTERS:
        message = message[: MAX_MESSAGE_CHARACTERS - 1] + "…"
    return {
        "type": kind,
        "status": state,
        "reason": str(reason),
        "message": message,
        "observedGeneration": verdict.generation,
        "lastTransitionTime": since or _time(now),
    }


def _by_type(status: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    return next((one for one in status.get("conditions") or () if one.get("type") == kind), {})


def _camel(reason: str) -> str:
    """`not-a-number` is NotANumber: what reads conditions expects words without a hyphen."""
    return "".join(part.capitalize() for part in reason.split("-"))


def _time(seconds: float) -> str:
    """Whole seconds: Kubernetes' own conditions have no finer time."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
