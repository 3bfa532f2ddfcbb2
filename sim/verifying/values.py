"""The values of a period: what each adapter served at a tick beside what the recorded samples give there."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.recordings import SERVED
from adapter.core.samples import Answer, Labels
from adapter.core.signals import NoSignal, Why
from sim.traces.recording import Recording
from sim.verifying.computing import Answers, Computed, computed


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """A tick at which another text was served than comes out of the samples, and what would explain it."""

    t: float
    adapter: Labels
    served: str
    replayed: str
    why: tuple[str, ...]
    """The account of the replayed one."""
    cause: str
    """Which input would have to have been answered otherwise."""
    served_why: tuple[str, ...]
    """The account that the served one then has; nothing where no such input was found."""


@dataclass(frozen=True, slots=True)
class Values:
    """How the values compare."""

    ticks: int
    compared: int
    refusals: int
    differences: int
    first: ValueDifference | None

    @property
    def is_told(self) -> bool:
        """Whether anything that was served is in the recording."""
        return self.compared > 0


def served_by_tick(recording: Recording) -> dict[int, list[tuple[Labels, str]]]:
    """Tick in milliseconds → what each adapter served there."""
    found: dict[int, list[tuple[Labels, str]]] = {}
    for line in recording.channel(SERVED):
        for t, text in zip(line.times, line.values, strict=True):
            one = (line.labels, str(text))
            at = found.setdefault(round(t * 1000), [])
            if one not in at:
                at.append(one)
    return found


def compare_values(recording: Recording, loaded: LoadedPolicy, ticks: Iterable[Computed]) -> Values:
    """Compare tick by tick; ticks that no scrape saw are not compared."""
    served = served_by_tick(recording)
    count = compared = refusals = differences = 0
    first: tuple[Computed, Labels, str] | None = None
    for one in ticks:
        count += 1
        told = served.get(round(one.t * 1000), [])
        compared += bool(told)
        refusals += any(not text[0].isdigit() for _, text in told)
        unequal = [(adapter, text) for adapter, text in told if text != one.text]
        differences += bool(unequal)
        if unequal and first is None:
            first = (one, *unequal[0])
    return Values(count, compared, refusals, differences, first and _explained(recording, loaded, *first))


def _explained(
    recording: Recording, loaded: LoadedPolicy, one: Computed, adapter: Labels, served: str
) -> ValueDifference:
    cause, other = _cause(recording, loaded, one.t, served)
    served_why = _account(other) if other is not None else ()
    return ValueDifference(one.t, adapter, served, one.text, _account(one), cause, served_why)


def _account(one: Computed) -> tuple[str, ...]:
    lines = []
    for group in one.groups:
        name = ", ".join(f"{label}={value}" for label, value in group.labels.items())
        outcome = group.outcome
        text = str(outcome.missing) if isinstance(outcome, NoSignal) else outcome.text
        lines.append(f"{name + ': ' if name else ''}{text}")
        if outcome.why is not None:
            lines += [f"  {line}" for line in _why(outcome.why)]
    return tuple(lines)


def _why(why: Why) -> Iterator[str]:
    for one in why.inputs:
        total = "no value" if one.total is None else f"{one.total:g} {one.unit} of {one.pods} series"
        yield f"input {one.name}: {total}" + (f" ({one.reason}: {one.message})" if one.reason else "")
    for term in why.terms:
        yield f"term {term.name}: {term.text}"
    if why.n is not None:
        yield f"replicas: {why.n:g}"
    yield f"decided by {why.decided_by}"


def _cause(recording: Recording, loaded: LoadedPolicy, t: float, served: str) -> tuple[str, Computed | None]:
    """Try each input with other answers at this tick, and see whether the served text comes out."""
    if served.startswith("upstream-"):
        return "Prometheus did not answer the adapter, or not in time; a recording shows what it answers later", None
    every = {query for query, _ in loaded.plan.queries}
    tries = [
        (name, queries, is_before)
        for name, queries in (*_queries_by_input(loaded), ("all inputs", every))
        for is_before in (True, False)
    ]
    for name, queries, is_before in tries:
        other = _computed_with(recording, loaded, t, queries, is_before)
        if other is not None and other.text == served:
            words = "the answers of the tick before" if is_before else "no samples at this tick"
            rest = "samples came late" if is_before else "the adapter did not see them"
            return f"{name}: with {words}, the served one comes out; {rest}", other
    return "no input explains it: the policy, the version or an earlier tick was another", None


def _queries_by_input(loaded: LoadedPolicy) -> Iterator[tuple[str, set[str]]]:
    plan = loaded.plan
    named = [(f"input {name}", one) for name, one in plan.inputs.items()]
    if plan.replicas is not None:
        parts = (
            ("replicas", plan.replicas.spec),
            ("ready replicas", plan.replicas.ready),
            ("pods", plan.replicas.pods),
        )
        named += [(name, one) for name, one in parts if one is not None]
    for name, one in named:
        queries = {alternative.query for series in one.series for alternative in series.alternatives}
        yield name, queries | ({one.freshness} if one.freshness is not None else set())


def _computed_with(
    recording: Recording, loaded: LoadedPolicy, t: float, queries: set[str], is_before: bool
) -> Computed | None:
    """What comes out at the tick if these queries had been answered as the tick before was, or with nothing."""

    def alter(at: float, answers: Answers, before: Answers) -> Answers:
        if abs(at - t) > 0.0005:
            return answers
        return {
            query: (before.get(query, Answer()) if is_before else Answer()) if query in queries else answer
            for query, answer in answers.items()
        }

    return next((one for one in computed(recording, loaded, alter) if one.t >= t - 0.0005), None)
