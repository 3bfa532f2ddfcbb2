"""Readings: the answers of one instant as one number per pod, or why there is none.

Pure: takes the plan of an input, the answers and the instant asked for. Here duplicates, sentinels, stale samples and
what is no number are found; nothing is ever filled in, and nothing is added that is not meant to be added.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import fsum

from adapter.core.histogram_readings import read_histogram
from adapter.core.input_plans import Alternative, InputPlan, SeriesPlan
from adapter.core.reasons import Missing, Reason
from adapter.core.samples import Answer, Series
from adapter.core.series_readings import Entity, Measured, Reading, parts_of, read_entity

Answers = Mapping[str, Answer]
"""Answers by query text without the range, as plans name them."""

GroupKey = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputReadings:
    """The readings of one input by group; a failure of the query itself stands for every group."""

    groups: Mapping[GroupKey, Reading]
    failure: Missing | None = None

    def of(self, group: GroupKey, name: str) -> Reading:
        """The group's reading; `empty` where nothing answered for it."""
        if self.failure is not None:
            return Reading(failure=self.failure)
        return self.groups.get(group) or Reading(failure=Missing(Reason.EMPTY, f"{name}: no series matches"))


def read_input(plan: InputPlan, answers: Answers, instant: float) -> InputReadings:
    """Read one input from the answers to its queries, as of the instant that was asked for (epoch seconds)."""
    failure = _query_failure(plan, answers)
    if failure is not None:
        return InputReadings({}, failure)
    fresh_time, failure = _freshness(plan, answers, instant)
    if failure is not None:
        return InputReadings({}, failure)
    if plan.is_plain:
        found = answers[plan.series[0].alternatives[0].query].series
        if len(found) == 1:
            return _read_one(plan, found[0], instant)
    collected = [_collect(plan, series, answers) for series in plan.series]
    keys = sorted({group for one in collected for group in one})
    if plan.histogram is not None:
        return InputReadings({group: read_histogram(plan, collected[0][group], instant) for group in keys})
    groups = {}
    for group in keys:
        read = [
            _read_series(plan, series, one.get(group, {}), instant)
            for series, one in zip(plan.series, collected, strict=True)
        ]
        groups[group] = _combine(plan, read, fresh_time)
    return InputReadings(groups)


def _read_one(plan: InputPlan, series: Series, instant: float) -> InputReadings:
    """A plain input of one series, the short way; what comes out is what the long way makes of it."""
    series_plan = plan.series[0]
    group, entity = _identity(plan, series_plan.alternatives[0], series)
    outcome = read_entity(plan, series_plan, entity, [series], instant)
    if isinstance(outcome, Missing):
        return InputReadings({group: Reading({}, {entity: outcome}, outcome)})
    measured = outcome if outcome.value > 0 else Measured(0.0, outcome.time, outcome.is_late, outcome.parts)
    return InputReadings({group: Reading({entity: measured})})


def _query_failure(plan: InputPlan, answers: Answers) -> Missing | None:
    for series in plan.series:
        for alternative in series.alternatives:
            failure = answers[alternative.query].failure
            if failure is not None:
                return Missing(failure.reason, f"{plan.name}: {failure.message}")
    return None


def _freshness(plan: InputPlan, answers: Answers, instant: float) -> tuple[float | None, Missing | None]:
    """The oldest among the newest samples of the freshness selector that still count, or why there is none."""
    if plan.freshness is None:
        return None, None
    answer = answers[plan.freshness]
    if answer.failure is not None:
        return None, Missing(answer.failure.reason, f"{plan.name}: freshness: {answer.failure.message}")
    times = [series.samples[-1].time for series in answer.series]
    if not times:
        return None, Missing(Reason.EMPTY, f"{plan.name}: the freshness selector matches no series")
    fresh = [time for time in times if instant - time <= plan.max_age]
    if not fresh:
        age = instant - max(times)
        return None, Missing(Reason.STALE, f"{plan.name}: newest sample is {age:.0f} s old, at most {plan.max_age:g} s")
    return min(fresh), None


Collected = dict[GroupKey, dict[Entity, list[Series]]]


def _collect(plan: InputPlan, series_plan: SeriesPlan, answers: Answers) -> Collected:
    """All series by group and pod; of several alternatives, per pod the first that has it."""
    collected: Collected = defaultdict(dict)
    for alternative in series_plan.alternatives:
        found: Collected = defaultdict(lambda: defaultdict(list))
        for series in answers[alternative.query].series:
            group, entity = _identity(plan, alternative, series)
            found[group][entity].append(series)
        for group, entities in found.items():
            for entity, members in entities.items():
                collected[group].setdefault(entity, members)
    return collected


def _identity(plan: InputPlan, alternative: Alternative, series: Series) -> tuple[GroupKey, Entity]:
    names = alternative.labels
    group = tuple(series.label(names.get(label, label)) for label in plan.by)
    return group, tuple(series.label(names.get(label, label)) for label in plan.per)


@dataclass(frozen=True, slots=True)
class _SeriesReading:
    plan: SeriesPlan
    values: dict[Entity, Measured]
    bad: dict[Entity, Missing]
    failure: Missing | None = None
    notes: tuple[str, ...] = ()


def _read_series(
    plan: InputPlan, series_plan: SeriesPlan, entities: Mapping[Entity, list[Series]], instant: float
) -> _SeriesReading:
    values: dict[Entity, Measured] = {}
    bad: dict[Entity, Missing] = {}
    notes: tuple[str, ...] = ()
    place = plan.pod_place
    if len(entities) > 1 and place is not None:
        unlabelled = [entity for entity in entities if not entity[place]]
        if unlabelled and len(unlabelled) < len(entities):
            notes = (f"{plan.name}: {len(unlabelled)} series without a pod belong to nobody and are left out",)
            entities = {entity: members for entity, members in entities.items() if entity[place]}
    for entity, members in entities.items():
        parts = parts_of(plan, members, instant)
        if isinstance(parts, Missing):
            return _SeriesReading(series_plan, {}, {}, parts, notes)
        outcome = read_entity(plan, series_plan, entity, parts, instant)
        if isinstance(outcome, Missing):
            bad[entity] = outcome
        else:
            values[entity] = outcome
    return _SeriesReading(series_plan, values, bad, None, notes)


def _combine(plan: InputPlan, read: list[_SeriesReading], fresh_time: float | None) -> Reading:
    """One number per pod from the input's series, by the plan's rule."""
    notes = tuple(dict.fromkeys(note for one in read for note in one.notes))
    for one in read:
        if one.failure is not None:
            return Reading(failure=one.failure, notes=notes)
    entities = sorted({entity for one in read for entity in (*one.values, *one.bad)})
    values: dict[Entity, Measured] = {}
    bad: dict[Entity, Missing] = {}
    for entity in entities:
        outcome = _combine_entity(plan, read, entity)
        if isinstance(outcome, Missing):
            bad[entity] = outcome
        elif fresh_time is not None:
            values[entity] = replace(outcome, time=fresh_time)
        else:
            values[entity] = outcome
    absent = [one.plan.name for one in read if one.plan.is_optional and not one.values and not one.bad]
    if absent and values and (plan.share is None or plan.share.instead is None):
        notes = (*notes, f"{plan.name}: {', '.join(absent)} unknown, counted as 0")
    # The first bad pod speaks for the input; the order is that of the pods' names.
    failure = None if values else next(iter(bad.values()), Missing(Reason.EMPTY, f"{plan.name}: no series matches"))
    return Reading(values, bad, failure, notes)


def _combine_entity(plan: InputPlan, read: list[_SeriesReading], entity: Entity) -> Measured | Missing:
    members: dict[str, Measured] = {}
    for one in read:
        if entity in one.bad:
            return one.bad[entity]
        if entity in one.values:
            members[one.plan.name] = one.values[entity]
        elif not one.plan.is_optional:
            return Missing(Reason.EMPTY, f"{plan.name}: {'/'.join(entity)}: no series for {one.plan.name}")
    time = min(measured.time for measured in members.values())
    is_late = any(measured.is_late for measured in members.values())
    parts = frozenset(part for measured in members.values() for part in measured.parts)
    if plan.gate is not None:
        gate = members.get(plan.gate.where)
        is_open = gate is not None and gate.value > 0
        return Measured(members[plan.gate.value].value if is_open else 0.0, time, is_late, parts)
    if plan.share is None:
        value = fsum(measured.value for measured in members.values())
        # Completions less what left the queue can come out a little below 0; fewer arrivals than none there are not.
        return Measured(max(0.0, value), time, is_late, parts)
    instead = members.get(plan.share.instead or "")
    if instead is not None and not any(name in members for name in plan.share.of):
        return Measured(instead.value, time, is_late, parts)
    whole = fsum(members[name].value for name in plan.share.of if name in members)
    if whole <= 0:
        return Missing(Reason.NOT_A_NUMBER, f"{plan.name}: {'/'.join(entity)}: a share of 0 is no number")
    used = members.get(plan.share.used)  # absent only if optional: a share of errors where none was counted yet
    return Measured((used.value if used is not None else 0.0) / whole, time, is_late, parts)
