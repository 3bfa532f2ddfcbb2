"""Comparison: each changed policy on each trace, before and after, and what stated thresholds say of the difference.

Both runs have the same trace, parameters and seed. Scores of supply against demand are each policy's own, so the
supply is also held against the demand that the base asked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from adapter.core.expressions import Expression
from adapter.core.policy_reading import LoadedPolicy
from sim.comparing.revisions import Key, Revision
from sim.hpa.spec import Spec
from sim.policy_files import gpus_per_replica
from sim.replay.default_hpa import default_hpa
from sim.replay.parameters import Parameters
from sim.replay.runner import Run
from sim.replay.steps import SyncStep
from sim.scores import Scorer
from sim.traces.trace import Trace

DEFAULT_THRESHOLDS = (
    "gpu_hours <= 1.1 * base_gpu_hours",
    "longest_under_demand_seconds <= base_longest_under_demand_seconds + 60",
    "flaps <= base_flaps",
    "syncs_without_metric <= base_syncs_without_metric",
)
"""What a change may do unasked: a tenth more GPU-hours, a minute more below demand; no flap, no missing metric more."""


@dataclass(frozen=True, slots=True)
class Difference:
    """The first sync at which base and candidate decide differently."""

    t: float
    base: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Side:
    """One run of a comparison: its scores by name, and what was inconclusive."""

    scores: Mapping[str, float]
    cannot: tuple[str, ...] = ()
    steps: tuple[SyncStep, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class Judgement:
    """A threshold and whether it holds; None where it could not be told."""

    threshold: str
    holds: bool | None
    actual: str


@dataclass(frozen=True, slots=True)
class Compared:
    """One changed policy on one trace. A side is None where its revision does not have the policy."""

    key: Key
    trace: str
    base: Side | None
    candidate: Side | None
    differing_syncs: int = 0
    first: Difference | None = None
    judgements: tuple[Judgement, ...] = ()


def changed_policies(base: Revision, candidate: Revision) -> dict[str, list[Key]]:
    """The keys that were added, removed or changed: the policy, a preset that it uses, or its HPA."""
    found: dict[str, list[Key]] = {"added": [], "removed": [], "changed": []}
    for key in sorted(base.policies.keys() | candidate.policies.keys()):
        before, after = base.policies.get(key), candidate.policies.get(key)
        if before is None:
            found["added"].append(key)
        elif after is None:
            found["removed"].append(key)
        elif not _is_same(before, after) or _hpa_fields(base, before) != _hpa_fields(candidate, after):
            found["changed"].append(key)
    return found


def _is_same(before: LoadedPolicy, after: LoadedPolicy) -> bool:
    plans = before.plan, after.plan
    return before.policy == after.policy and all(
        getattr(plans[0], name) == getattr(plans[1], name) for name in ("inputs", "replicas", "queries", "roles")
    )


def _hpa_fields(revision: Revision, policy: LoadedPolicy) -> object:
    manifest = revision.hpa_of(policy)
    return None if manifest is None else manifest.fields


def compare(
    key: Key,
    base: Revision,
    candidate: Revision,
    trace: Trace,
    parameters: Parameters,
    thresholds: Sequence[Expression],
) -> Compared:
    """Both sides of one policy on one trace."""
    before, after = base.policies.get(key), candidate.policies.get(key)
    old = None if before is None else _run(before, base, trace, parameters)
    new = None if after is None else _run(after, candidate, trace, parameters)
    if old is None or new is None:
        return Compared(key, trace.header.source, old, new)
    differing = [(one, other) for one, other in zip(old.steps, new.steps, strict=False) if one.desired != other.desired]
    first = Difference(differing[0][0].t, _told(differing[0][0]), _told(differing[0][1])) if differing else None
    judgements = tuple(_judge(one, old, new) for one in thresholds)
    return Compared(key, trace.header.source, old, new, len(differing), first, judgements)


def _run(policy: LoadedPolicy, revision: Revision, trace: Trace, parameters: Parameters) -> Side:
    manifest = revision.hpa_of(policy)
    hpa: Spec = manifest.spec() if manifest is not None else default_hpa(policy)[0]
    run = Run([policy], trace, hpa, parameters)
    scorer = Scorer(parameters.sync + parameters.hpa_latency, hpa.maximum, gpus_per_replica(policy))
    steps = []
    for step in run.steps():
        scorer.add(step)
        steps.append(step)
    return Side(scorer.scores().numbers(), run.untold, tuple(steps))


def _told(step: SyncStep) -> str:
    values = ", ".join(f"{one.name} {one.text if one.text is not None else one.reason}" for one in step.metrics)
    change = f"{step.replicas} → {step.desired}" if step.is_rescale else f"{step.desired}"
    return f"{change} ({values}; {', '.join(step.reasons)})"


def _judge(threshold: Expression, base: Side, candidate: Side) -> Judgement:
    numbers = {**candidate.scores, **{f"base_{name}": value for name, value in base.scores.items()}}
    result = threshold.evaluate(numbers)
    actual = ", ".join(f"{name} {numbers[name]:.6g}" for name in threshold.names if name in numbers)
    return Judgement(threshold.text, result if isinstance(result, bool) else None, actual)


def inconclusive(compared: Sequence[Compared]) -> Iterator[str]:
    """What could not be carried over from the traces, each once."""
    sides = [side for one in compared for side in (one.base, one.candidate) if side is not None]
    yield from dict.fromkeys(words for side in sides for words in side.cannot)
