"""Lints of time and inputs: what is asked when, how old it may be, and whether anything reads it."""

from collections.abc import Iterator

from adapter.core.conditions import inputs_in
from adapter.core.documents import Path
from adapter.core.input_plans import InputPlan
from adapter.core.lint_subject import REPLICAS_FIX, Found, Subject
from adapter.core.plans import default_offset
from adapter.core.policy_inputs import ReplicasPreset
from adapter.core.presets import Take

MAX_HOLD_SECONDS = 120.0
SCRAPES_IN_MAX_AGE = 2.0
SCRAPES_IN_WINDOW = 2.5


def find(subject: Subject) -> Iterator[Found]:
    """Findings about times and inputs."""
    yield from _grid(subject)
    yield from _unused(subject)
    scrape = subject.policy.spec.scrape_interval
    for name in subject.policy.spec.inputs:
        yield from _ages(name, subject.plan.inputs[name], scrape)
    if subject.policy.spec.replicas is None:
        message = "without replicas a pod that failed cannot be told from one scaled down, and then there is no signal"
        yield Found(("spec",), "replicas-missing", message, REPLICAS_FIX)
    if subject.policy.spec.publish.sum and not all(subject.policy.spec.by.values()):
        message = "a sum over groups that are not declared shrinks when one vanishes"
        yield Found(("spec", "publish", "sum"), "groups-undeclared", message, "declare them: by: {label: [a, b]}")
    yield from _groups(subject)


def _groups(subject: Subject) -> Iterator[Found]:
    replicas = subject.policy.spec.replicas
    if not isinstance(replicas, ReplicasPreset):
        return
    foreign = sorted(set(subject.policy.spec.by) - {"namespace", *replicas.match})
    if foreign:
        message = f"kube-state-metrics has no label {', '.join(foreign)}, so N stays unknown and no group has a signal"
        fix = "write replicas: {query: …, ready: …} that give these labels, or a policy for each workload"
        yield Found(("spec", "replicas"), "groups-without-replicas", message, fix)


def _grid(subject: Subject) -> Iterator[Found]:
    spec, plan = subject.policy.spec, subject.plan
    wanted = default_offset(spec.scrape_interval)
    if plan.offset < wanted:
        message = (
            f"offset {plan.offset:g}s is below {wanted:g}s, so answers may still change after they are used"
            f" (scrape_interval {spec.scrape_interval:g}s)"
        )
        path: Path = ("spec", "offset") if spec.offset is not None else ("spec",)
        yield Found(path, "offset-too-small", message, "leave offset out, or state the real scrape_interval")
    if spec.every < spec.scrape_interval:
        times = spec.scrape_interval / spec.every
        message = (
            f"every {spec.every:g}s is below scrape_interval {spec.scrape_interval:g}s:"
            f" each sample is asked for {times:.1f} times"
        )
        yield Found(
            ("spec", "every"), "every-below-scrape", message, "write an every of at least the real scrape_interval"
        )


def _unused(subject: Subject) -> Iterator[Found]:
    used = {name for term in subject.terms for name in term.inputs}
    conditions = [term.when for term in subject.terms] + [guard.condition for guard in subject.guards]
    used |= set(inputs_in((name for one in conditions if one is not None for name in one.names), subject.plan.inputs))
    for name in subject.policy.spec.inputs:
        if name not in used:
            path: Path = ("spec", "inputs", name)
            yield Found(path, "unused-input", "no term or guard reads it", "remove it or use it")


def _ages(name: str, one: InputPlan, scrape: float) -> Iterator[Found]:
    path: Path = ("spec", "inputs", name)
    if one.max_age < SCRAPES_IN_MAX_AGE * scrape:
        message = f"max_age {one.max_age:g}s is below two scrapes of {scrape:g}s: one that fails makes the input stale"
        fix = f"write max_age: {SCRAPES_IN_MAX_AGE * scrape:g}s or more"
        yield Found(path, "max-age-short", message, fix)
    takes_window = one.histogram is not None or any(series.take in (Take.RATE, Take.CHANGE) for series in one.series)
    if takes_window and one.window < SCRAPES_IN_WINDOW * scrape:
        message = f"a window of {one.window:g}s may hold one scrape of {scrape:g}s, and one sample gives no rate"
        yield Found(path, "window-short", message, f"write window: {4 * scrape:g}s: four scrapes")
    if one.missing.hold is not None and one.missing.hold > MAX_HOLD_SECONDS:
        message = f"for {one.missing.hold:g}s a value decides that nothing measures any more"
        yield Found((*path, "missing"), "hold-long", message, "write hold: 2m at most, or rise_only")
