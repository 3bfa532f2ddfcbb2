"""Lints of terms and guards: demand that oscillates, saturates, runs away, or never lets go."""

import re
from collections.abc import Iterator
from math import pi

from adapter.core.documents import Path
from adapter.core.lint_subject import Found, Subject
from adapter.core.policy_terms import (
    BacklogTerm,
    ConcurrencyTerm,
    Drain,
    HeadroomTerm,
    TermBase,
    ThroughputTerm,
    UpDown,
    UtilizationTerm,
    WindowShape,
    parse_amount,
)
from adapter.core.term_planning import MIN_DRAIN_SECONDS
from adapter.core.units import Unit

CONTROL_LAG_SECONDS = 30.0
"""Scrape, evaluation and sync together, added to the cold start in the loop of a backlog."""

HIGH_TARGET, HIGH_SHARE = 0.8, 0.9
SMALL_KEEP_FREE, LARGE_KEEP_FREE = 0.3, 0.5
LONG_SUSTAIN_SECONDS = 30.0
PREALLOCATED_SHARE = 0.92

_UNBOUNDED = {"throughput", "concurrency", "backlog", "expression"}
_WAITING = ("requests-waiting", "requests-pending", "requests-queued")
_THRESHOLD = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)\s*>=?\s*([0-9.]+)\s*(%?)")


def find(subject: Subject) -> Iterator[Found]:
    """Findings about terms and guards."""
    yield from _together(subject)
    for name, term in subject.policy.spec.terms.items():
        path: Path = ("spec", "terms", name)
        yield from _drains(subject, term, path)
        yield from _shape(term, path)
        match term:
            case ConcurrencyTerm():
                yield from _concurrency(subject, term, path)
            case UtilizationTerm():
                yield from _utilization(subject, term, path)
            case HeadroomTerm():
                yield from _headroom(subject, term, path)
            case ThroughputTerm() if term.share.up > HIGH_SHARE:
                message = (
                    f"a share of {term.share.up:g} leaves {1 - term.share.up:.0%} for a wave until a replica starts"
                )
                yield Found((*path, "share"), "share-high", message, "write share: 80% of the measured rate")
    yield from _guards(subject)


def _together(subject: Subject) -> Iterator[Found]:
    path: Path = ("spec", "terms")
    kinds = {term.kind for term in subject.terms}
    if kinds == {"backlog"}:
        message = "a backlog alone asks for nothing at a steady load and then for too much: it oscillates"
        yield Found(path, "backlog-alone", message, "add it to a throughput term with plus")
    if kinds == {"latency"}:
        message = "a latency only raises: nothing here ever lets a replica go"
        yield Found(path, "latency-alone", message, "add a throughput or concurrency term")
    elif kinds and not kinds & _UNBOUNDED:
        message = "every term saturates when its pods are full, so growth is at most 1 ÷ target per cold start"
        yield Found(path, "no-unbounded-term", message, "add a throughput or concurrency term")


def _drains(subject: Subject, term: TermBase, path: Path) -> Iterator[Found]:
    capacity = subject.policy.spec.capacity
    drain: Drain | None = None
    if isinstance(term, BacklogTerm):
        drain = term
    elif isinstance(term, ThroughputTerm) and term.plus is not None:
        drain, path = term.plus, (*path, "plus")
    if drain is None:
        return
    least = 2 / pi * ((capacity.cold_start or 0.0) + CONTROL_LAG_SECONDS)
    seconds = drain.drain or max(capacity.cold_start or 0.0, MIN_DRAIN_SECONDS)
    if seconds < least:
        message = f"drain {seconds:g}s is below 2/π of cold start and lag ({least:.0f}s): it oscillates"
        fix = "drain over at least the cold start; stability.credit damps it where that cannot be"
        yield Found((*path, "drain"), "drain-too-short", message, fix)


def _shape(term: TermBase, path: Path) -> Iterator[Found]:
    up: WindowShape | None = term.shape.up if term.shape is not None else None
    if up is None or up.take == "max":
        return
    seconds = up.window if up.window is not None else up.sustained or 0.0
    if up.sustained is not None and up.sustained <= LONG_SUSTAIN_SECONDS:
        return
    message = f"U follows up to {seconds:g}s late, and a cold start comes on top"
    yield Found((*path, "shape", "up"), "smoothing-up", message, "shape down, or sustain U for two ticks at most")


def _concurrency(subject: Subject, term: ConcurrencyTerm, path: Path) -> Iterator[Found]:
    place = (*path, "concurrency")
    if subject.ends_with(term.concurrency, _WAITING):
        message = "waiting requests are 0 at a steady load, so this asks for 0 and then for too much: it oscillates"
        fix = "read requests in flight, or add a backlog with a drain to a throughput term"
        yield Found(place, "concurrency-of-waiting", message, fix)


def _utilization(subject: Subject, term: UtilizationTerm, path: Path) -> Iterator[Found]:
    if term.target.up > HIGH_TARGET:
        message = f"at a target of {term.target.up:g} replicas grow by at most {1 / term.target.up:.2f} per cold start"
        yield Found((*path, "target"), "target-high", message, "use a target from 50% to 80%")
    if subject.preset_of(term.utilization) == "dcgm/gpu-utilization":
        message = "it counts time in which any kernel ran: one request reads as full, and MIG has none"
        yield Found((*path, "utilization"), "gpu-util-coarse", message, "use dcgm/engine-active")


def _headroom(subject: Subject, term: HeadroomTerm, path: Path) -> Iterator[Found]:
    one = subject.plan.inputs[term.headroom]
    engine = subject.preallocating_engine
    reads_cache = any(subject.ends_with(name, ("kv-cache-usage",)) for part in subject.terms for name in part.inputs)
    if one.needs_base and engine and not reads_cache:
        message = f"{engine} takes its memory at the start, so VRAM hardly moves with load"
        fix = "use the engine's kv-cache-usage for headroom, and VRAM in a guard"
        yield Found((*path, "headroom"), "vram-preallocated", message, fix)
    if subject.ends_with(term.headroom, ("kv-cache-usage",)):
        keep = term.keep_free.up if isinstance(term.keep_free, UpDown) else term.keep_free
        free = parse_amount(keep, Unit.RATIO)
        place = (*path, "keep_free", "up") if isinstance(term.keep_free, UpDown) else (*path, "keep_free")
        if free < SMALL_KEEP_FREE:
            message = f"{free:.0%} free is full in practice: a batch at 85 % does 92 to 98 % of what it ever can"
            yield Found(place, "keep-free-small", message, "keep 30% to 40% free")
        elif free > LARGE_KEEP_FREE:
            message = f"{free:.0%} free costs replicas and gains nothing over 40 %"
            yield Found(place, "keep-free-large", message, "keep 30% to 40% free")


def _guards(subject: Subject) -> Iterator[Found]:
    for index, guard in enumerate(subject.policy.spec.guards):
        text = guard.rule.when
        if text is None or guard.direction == "up" or not subject.preallocating_engine:
            continue
        for name, number, percent in _THRESHOLD.findall(text):
            declared = next((one for key, one in subject.plan.inputs.items() if key.replace("-", "_") == name), None)
            if declared is None or not declared.needs_base or declared.unit.base is not Unit.RATIO:
                continue
            threshold = float(number) / (100 if percent else 1)
            if threshold <= PREALLOCATED_SHARE:
                message = (
                    f"{subject.preallocating_engine} holds some 90 % of VRAM when idle, so {name} is above"
                    f" {threshold:g} always and the guard ends by its max alone"
                )
                path: Path = ("spec", "guards", index, "hold_scale_down", "when")
                yield Found(path, "guard-latches", message, f"write {name} > 95%, or guard with the KV cache")
