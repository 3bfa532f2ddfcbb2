"""Expectations: what was expected of a run beside what it did, for each line of a test.

An expectation that the run is too short for, or whose words need a number that was never there, is inconclusive: it
neither passes nor fails.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from adapter.core.expressions import Expression
from adapter.core.units import show_duration
from sim.policy_tests.documents import Bounds, Expectation
from sim.replay.steps import MetricStep, SyncStep


class Verdict(StrEnum):
    """What became of an expectation, a test or a file; the worst of its parts counts."""

    PASS = "pass"  # noqa: S105 - no password
    INCONCLUSIVE = "inconclusive"
    FAIL = "fail"


_ORDER = (Verdict.PASS, Verdict.INCONCLUSIVE, Verdict.FAIL)


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The worst of some verdicts; pass where there is none."""
    return max(verdicts, key=_ORDER.index, default=Verdict.PASS)


@dataclass(frozen=True, slots=True)
class Finding:
    """One expectation and what was found; `t` is the sync that decided it."""

    expected: str
    actual: str
    verdict: Verdict
    t: float | None = None


def judge(expected: Expectation, steps: Sequence[SyncStep]) -> Finding:
    """Hold one expectation against the syncs of a run."""
    words = _words(expected)
    first, last = steps[0].t, steps[-1].t
    if expected.at is not None:
        if not first <= expected.at <= last + _period(steps):
            return Finding(words, _span(steps), Verdict.INCONCLUSIVE)
        step = max((one for one in steps if one.t <= expected.at), key=lambda one: one.t)
        return _at(expected, step, words)
    begin, end = expected.within or (first, last)
    if end < first or end > last + _period(steps):
        return Finding(words, _span(steps), Verdict.INCONCLUSIVE)
    seen = [one for one in steps if begin <= one.t <= end]
    if not seen:
        return Finding(words, f"no sync from {_time(begin)} to {_time(end)}", Verdict.INCONCLUSIVE)
    if expected.always is not None:
        return _every(expected, expected.always, seen, words, is_wanted=True)
    if expected.never is not None:
        return _every(expected, expected.never, seen, words, is_wanted=False)
    return _some(expected, seen, words)


def judge_score(expression: Expression, scores: Mapping[str, float]) -> Finding:
    """Hold a threshold against the scores of a run."""
    absent = [name for name in expression.names if name not in scores]
    if absent:
        return Finding(expression.text, f"{', '.join(absent)} could not be measured", Verdict.INCONCLUSIVE)
    actual = ", ".join(f"{name} {scores[name]:.6g}" for name in expression.names)
    result = expression.evaluate(scores)
    return Finding(expression.text, actual, Verdict.PASS if result is True else Verdict.FAIL)


def _at(expected: Expectation, step: SyncStep, words: str) -> Finding:
    wrong = _differences(expected, step)
    actual = _shown(expected, step)
    return Finding(words, actual, Verdict.FAIL if wrong else Verdict.PASS, step.t)


def _some(expected: Expectation, seen: Sequence[SyncStep], words: str) -> Finding:
    """Whether all that is expected holds at one of the syncs at least."""
    for step in seen:
        if expected.sometimes is not None:
            if expected.sometimes.evaluate(variables(step, expected.metric)) is True:
                return Finding(words, f"at {_time(step.t)}", Verdict.PASS, step.t)
        elif not _differences(expected, step):
            return Finding(words, f"at {_time(step.t)}: {_shown(expected, step)}", Verdict.PASS, step.t)
    return Finding(words, f"at no sync; last {_shown(expected, seen[-1])}", Verdict.FAIL, seen[-1].t)


def _every(
    expected: Expectation, condition: Expression, seen: Sequence[SyncStep], words: str, *, is_wanted: bool
) -> Finding:
    """Whether the condition is, or is not, true at every sync at which it can be told."""
    told = [(step, condition.evaluate(variables(step, expected.metric))) for step in seen]
    known = [(step, result) for step, result in told if result is not None]
    for step, result in known:
        if result is not is_wanted:
            return Finding(
                words, f"at {_time(step.t)}: {_values(condition, step, expected.metric)}", Verdict.FAIL, step.t
            )
    if not known:
        return Finding(words, "it could be told at no sync", Verdict.INCONCLUSIVE)
    step = known[-1][0]
    return Finding(words, f"{len(known)} syncs; last {_values(condition, step, expected.metric)}", Verdict.PASS, step.t)


def metric_of(step: SyncStep, name: str | None) -> MetricStep | None:
    """The metric of that name, or the first."""
    return next((one for one in step.metrics if name is None or one.name.lower() == name.lower()), None)


def variables(step: SyncStep, metric: str | None) -> dict[str, float]:
    """What a condition can speak of; a signal that is missing has no value, and neither have its U, D and N."""
    found: dict[str, float] = {"t": step.t, "replicas": step.desired, "ready": step.ready}
    one = metric_of(step, metric)
    found["missing"] = float(one is None or one.text is None)
    if one is not None and one.text is not None:
        found["signal"] = quantity(one.text)
    why = one.outcome.why if one is not None and one.outcome is not None else None
    if why is not None:
        numbers = {"up": why.up, "down": why.down, "n": why.n}
        found.update({name: value for name, value in numbers.items() if value is not None})
    return found


def quantity(text: str) -> float:
    """The number of a Quantity as this project writes it: whole or in thousandths."""
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def _differences(expected: Expectation, step: SyncStep) -> list[str]:
    one = metric_of(step, expected.metric)
    text, reason = (one.text, one.reason) if one is not None else (None, "not-found")
    wrong = []
    if expected.replicas is not None and not expected.replicas.holds(step.desired):
        wrong.append("replicas")
    if expected.ready is not None and not expected.ready.holds(step.ready):
        wrong.append("ready")
    if expected.signal is not None and (text is None or not expected.signal.holds(quantity(text))):
        wrong.append("signal")
    if expected.missing is not None and (text is not None or expected.missing not in ("any", reason)):
        wrong.append("missing")
    if expected.decision is not None and expected.decision not in step.reasons:
        wrong.append("decision")
    return wrong


def _shown(expected: Expectation, step: SyncStep) -> str:
    one = metric_of(step, expected.metric)
    signal = "not found" if one is None else one.text if one.text is not None else f"missing ({one.reason})"
    parts = []
    if expected.replicas is not None or expected.sometimes is not None:
        parts.append(f"replicas {step.desired}")
    if expected.ready is not None:
        parts.append(f"ready {step.ready}")
    if expected.signal is not None or expected.missing is not None or expected.sometimes is not None:
        parts.append(f"signal {signal}")
    if expected.decision is not None:
        parts.append(", ".join(step.reasons) or "no reason")
    return ", ".join(parts)


def _values(condition: Expression, step: SyncStep, metric: str | None) -> str:
    found = variables(step, metric)
    return ", ".join(f"{name} {found[name]:.6g}" for name in condition.names if name in found)


def _words(expected: Expectation) -> str:
    parts = []
    for name in ("replicas", "ready", "signal"):
        bounds: Bounds | None = getattr(expected, name)
        if bounds is not None:
            parts.append(f"{name} {bounds.text}")
    if expected.missing is not None:
        parts.append("signal missing" if expected.missing == "any" else f"signal missing ({expected.missing})")
    if expected.decision is not None:
        parts.append(expected.decision)
    for name in ("always", "never", "sometimes"):
        condition: Expression | None = getattr(expected, name)
        if condition is not None:
            parts.append(f"{name} {condition.text}")
    what = ", ".join(parts)
    if expected.metric is not None:
        what = f"{expected.metric}: {what}"
    if expected.at is not None:
        return f"at {_time(expected.at)} {what}"
    if expected.within is not None:
        return f"from {_time(expected.within[0])} to {_time(expected.within[1])} {what}"
    return what


def _period(steps: Sequence[SyncStep]) -> float:
    return steps[1].t - steps[0].t if len(steps) > 1 else 0.0


def _span(steps: Sequence[SyncStep]) -> str:
    return f"the run is from {_time(steps[0].t)} to {_time(steps[-1].t)}"


def _time(seconds: float) -> str:
    return show_duration(seconds) if seconds else "0s"
