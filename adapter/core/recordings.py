"""The form of a recording: what a policy asked Prometheus for, and what it answered, as lines of JSON.

Lines are the header, then chunk by chunk a line for each series, and behind each chunk a line that ends it. Within a
chunk times are milliseconds, the first since 1970 and each further one since the one before. Values are those that
Prometheus gave, to the last digit. Written by `scaleproof record`, read by the simulator; both by these functions, so
that the same answers are the same bytes.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from itertools import accumulate, pairwise
from math import isfinite, isnan
from typing import Any

from adapter.core.plans import PolicyPlan, ReplicasPlan
from adapter.core.policy import Policy
from adapter.core.samples import Answer, Labels, Sample, Series, labels_of

FORMAT_NAME = "scaleproof-recording"
FORMAT_VERSION = 1

ROLE_REPLICAS, ROLE_READY = "replicas", "ready"
SERVED, HPA = "served", "hpa"
"""Channels beside the queries: what was served at a tick (a quantity, or why there was none), and the replicas that an
HPA wanted."""
SERVED_TICK, SERVED_MISSING = "served tick", "served missing"
"""What else is asked for the channel "served"; no lines of their own."""


class RecordingError(ValueError):
    """A line that is not of this form; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class RecordedQuery:
    """One query: its text, whether it is a plain selector that was asked with a range, and what of N it tells."""

    query: str
    is_raw: bool
    role: str | None = None


@dataclass(frozen=True, slots=True)
class RecordingHeader:
    """What was recorded, and how. `start` and `end` are the first and last tick, in epoch seconds like all times."""

    policy: str
    policy_sha256: str
    queries: tuple[RecordedQuery, ...]
    start: float
    end: float
    every: float
    offset: float
    lookback: float
    memory_ticks: int
    scrape_interval: float
    chunk_ticks: int
    versions: Mapping[str, str]
    channels: Mapping[str, str]
    """The queries of what is recorded beside the policy's own."""
    lines: int = 0
    """Lines behind the header."""
    sha256: str = ""
    """Checksum of these lines; "" until the recording is complete."""


@dataclass(frozen=True, slots=True)
class RecordedLine:
    """A line behind the header: samples of one series, or the end of a chunk.

    `channel` is the number of a query, "served" or "hpa". Times of "served" are ticks, its values texts: as on the
    wire, or the reason for having none.
    """

    channel: int | str
    labels: Labels = ()
    times: tuple[float, ...] = ()
    values: tuple[float | str, ...] = ()
    end: float | None = None
    """The last tick of the chunk that ends here."""


def policy_hash(policy: Policy) -> str:
    """A checksum of what a policy says; comments and the order of its keys do not change it."""
    return hashlib.sha256(policy.model_dump_json().encode()).hexdigest()


def queries_of(plan: PolicyPlan) -> tuple[RecordedQuery, ...]:
    """All that the policy asks, with the part that each plays for N."""
    roles = _roles(plan.replicas)
    return tuple(RecordedQuery(query, is_raw, roles.get(query)) for query, is_raw in plan.queries)


def _roles(replicas: ReplicasPlan | None) -> dict[str, str]:
    if replicas is None:
        return {}
    plans = [(replicas.ready, ROLE_READY), (replicas.spec, ROLE_REPLICAS)]
    return {
        alternative.query: role
        for plan, role in plans
        if plan is not None
        for series in plan.series
        for alternative in series.alternatives
    }


def write_header(header: RecordingHeader) -> str:
    """The header's line."""
    data = {"format": FORMAT_NAME, "version": FORMAT_VERSION, **asdict(header)}
    return _dump(data)


def read_header(line: str) -> RecordingHeader:
    """The header of a line; RecordingError where it is none."""
    data = _load(line)
    if data.pop("format", None) != FORMAT_NAME:
        raise RecordingError("this is no header of a recording")
    version = data.pop("version", None)
    if version != FORMAT_VERSION:
        raise RecordingError(f"the recording is of version {version}, this program reads version {FORMAT_VERSION}")
    try:
        queries = tuple(RecordedQuery(**one) for one in data.pop("queries"))
        header = RecordingHeader(queries=queries, **data)
        is_whole = all(isinstance(one.query, str) for one in queries) and header.every > 0 <= header.end - header.start
    except (TypeError, KeyError, AttributeError) as error:
        raise RecordingError(f"the header is not whole ({error})") from error
    if not is_whole:
        raise RecordingError("the header is not whole")
    return header


def query_lines(index: int, answer: Answer, after: float | None, until: float) -> list[str]:
    """The lines of a query's answer, of it what lies after the one time and up to the other."""
    lines = []
    for series in sorted(answer.series, key=lambda one: one.labels):
        kept = [one for one in series.samples if one.time <= until and (after is None or one.time > after)]
        if kept:
            lines.append(_dump(_line(index, series.labels, kept)))
    return lines


def channel_line(channel: str, labels: Mapping[str, str], times: Iterable[float], values: Iterable[float | str]) -> str:
    """A line of what was served, or of an HPA's replicas."""
    return _dump({"q": channel, "l": dict(labels), "t": _deltas(times), "v": [_value(one) for one in values]})


def end_line(tick: float) -> str:
    """The line that ends a chunk."""
    return _dump({"end": round(tick * 1000)})


def _line(index: int, labels: Labels, samples: list[Sample]) -> dict[str, object]:
    times = _deltas(sample.time for sample in samples)
    return {"q": index, "l": dict(labels), "t": times, "v": [_value(sample.value) for sample in samples]}


def _deltas(times: Iterable[float]) -> list[int]:
    whole = [round(time * 1000) for time in times]
    return [*whole[:1], *(after - before for before, after in pairwise(whole))]


def _value(value: float | str) -> float | int | str:
    if isinstance(value, str):
        return value
    if isnan(value):
        return "NaN"
    if not isfinite(value):
        return "+Inf" if value > 0 else "-Inf"
    is_short = value == int(value) and abs(value) < 1e15 and str(value) != "-0.0"
    return int(value) if is_short else value


def read_line(text: str) -> RecordedLine:
    """A line behind the header; RecordingError where it is none."""
    data = _load(text)
    try:
        if "end" in data:
            return RecordedLine("", end=data["end"] / 1000)
        channel, labels, times, values = data["q"], data["l"], data["t"], data["v"]
        if not times or len(times) != len(values):
            raise RecordingError(f"{len(times)} times and {len(values)} values in one line")
        is_text = channel == SERVED
        read = tuple(str(one) if is_text else float(one) for one in values)
        return RecordedLine(channel, labels_of(labels), tuple(one / 1000 for one in accumulate(times)), read)
    except RecordingError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise RecordingError(f"no line of a recording ({error})") from error


def series_of(line: RecordedLine) -> Series:
    """The series of a query's line."""
    return Series(line.labels, tuple(Sample(float(v), t) for v, t in zip(line.values, line.times, strict=True)))


def _dump(data: Mapping[str, object]) -> str:
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False) + "\n"


def _load(line: str) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RecordingError(f"no JSON ({error})") from error
    if not isinstance(data, dict):
        raise RecordingError("the line is no JSON object")
    return data
