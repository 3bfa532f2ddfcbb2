"""The recorder: asks a live Prometheus, chunk by chunk, for what a policy would have been answered on its grid.

What is written grows in a part file beside the wanted one, a chunk at a time, so that a stop costs one chunk; begun
again it goes on behind the last whole chunk. Queries go one at a time, at most so many a second.
"""

import gzip
import hashlib
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import TextIOWrapper
from pathlib import Path
from typing import IO

from adapter import clock
from adapter.core import promql
from adapter.core.recordings import (
    HPA,
    SERVED,
    SERVED_MISSING,
    SERVED_TICK,
    RecordingError,
    RecordingHeader,
    channel_line,
    end_line,
    query_lines,
    read_header,
    read_line,
    write_header,
)
from adapter.core.samples import Answer, Series
from adapter.core.served_channel import served_lines
from adapter.deadlines import Deadline
from adapter.prometheus import PrometheusSource

QUERY_SECONDS = 30.0
MAX_PART_LINE = 64 * 1024 * 1024


class RecordError(Exception):
    """A recording that cannot be made or gone on with; the message says why and what to do."""


class UnansweredError(RecordError):
    """Prometheus did not answer; what was recorded so far is kept."""


class PacedSource:
    """A Prometheus that is asked one query at a time and not more often than allowed."""

    def __init__(self, source: PrometheusSource, queries_a_second: float) -> None:
        self._source, self._pause = source, 1 / queries_a_second
        self._next = 0.0
        self.asked = 0

    def instant(self, query: str, at: float) -> Answer:
        """The answer to an instant query; UnansweredError where there is none."""
        return self._ask(query, lambda deadline: self._source.instant(query, at, deadline))

    def range(self, query: str, start: float, end: float, step: float) -> Answer:
        """The answer to a range query; UnansweredError where there is none."""
        return self._ask(query, lambda deadline: self._source.range(query, start, end, step, deadline))

    def _ask(self, query: str, ask: Callable[[Deadline], Answer]) -> Answer:
        wait = self._next - clock.monotonic()
        if wait > 0:
            threading.Event().wait(wait)
        self._next = clock.monotonic() + self._pause
        self.asked += 1
        deadline = Deadline(QUERY_SECONDS)
        timer = threading.Timer(QUERY_SECONDS, deadline.end)  # a server that drips outlasts any read's time-out
        timer.daemon = True
        timer.start()
        try:
            answer = ask(deadline)
        finally:
            timer.cancel()
        if answer.failure is not None:
            fix = "run the same command again to go on; a smaller --chunk asks for less at once"
            raise UnansweredError(f"{query}: {answer.failure.message}; {fix}")
        return answer


def record(source: PacedSource, header: RecordingHeader, part: Path) -> Iterator[tuple[int, int]]:
    """Record what is not in the part file yet; gives (chunks there are, chunks in all) after each chunk."""
    every = header.every
    first, last = round(header.start / every), round(header.end / every)
    starts = list(range(first, last + 1, header.chunk_ticks))
    done = _prepare(header, part)
    yield done, len(starts)
    with part.open("a", encoding="utf-8") as file:
        for number, start in enumerate(starts[done:], start=done + 1):
            end = min(start + header.chunk_ticks - 1, last)
            lines = _chunk(source, header, start, end, start == first)
            lines += _channel_lines(source, header, start, end)
            file.writelines([*lines, end_line(end * every)])
            file.flush()
            os.fsync(file.fileno())
            yield number, len(starts)


def _chunk(source: PacedSource, header: RecordingHeader, start: int, end: int, is_first: bool) -> list[str]:
    every, offset = header.every, header.offset
    begin, until = start * every - offset, end * every - offset
    # The first chunk also has what the first tick looks back on; each further one what came since the one before.
    after = begin - header.lookback if is_first else begin - every
    lines: list[str] = []
    for index, one in enumerate(header.queries):
        if one.is_raw:
            # A range may be open or closed at its start, by the server's version: ask for 1 ms more, and cut.
            answer = source.instant(promql.with_range(one.query, until - after + 0.001), until)
            lines += query_lines(index, answer, after - 0.0005 if is_first else after, until)
        else:
            lines += query_lines(index, source.range(one.query, begin, until, every), None, until + 0.0005)
    return lines


def _channel_lines(source: PacedSource, header: RecordingHeader, start: int, end: int) -> list[str]:
    """What was served and what the HPA wanted, as Prometheus scraped it between the chunk's ticks."""
    until, after = end * header.every, (start - 1) * header.every
    found = {}
    for channel, query in header.channels.items():
        answer = source.instant(promql.with_range(query, until - after + 0.001), until)
        found[channel] = [
            Series(series.labels, tuple(one for one in series.samples if after < one.time <= until))
            for series in answer.series
        ]
    lines = []
    if SERVED in found:
        lines += served_lines(found[SERVED], found[SERVED_TICK], found[SERVED_MISSING])
    for series in sorted(found.get(HPA, ()), key=lambda one: one.labels):
        if series.samples:
            times, values = zip(*[(one.time, one.value) for one in series.samples], strict=True)
            lines.append(channel_line(HPA, dict(series.labels), times, values))
    return lines


def part_header(part: Path) -> RecordingHeader | None:
    """The header of a part file, if there is one; RecordError where it is no part of a recording."""
    try:
        with part.open(encoding="utf-8") as file:
            return read_header(file.readline(MAX_PART_LINE))
    except FileNotFoundError:
        return None
    except (OSError, RecordingError, UnicodeDecodeError) as error:
        raise RecordError(f"{part}: {error}; remove it to begin anew") from error


def _prepare(header: RecordingHeader, part: Path) -> int:
    """Begin the part file, or cut it behind its last whole chunk; how many whole chunks it has."""
    there = part_header(part)
    if there is None:
        part.write_text(write_header(header), encoding="utf-8")
        return 0
    if there != header:
        message = f"{part} was begun with another policy, span, chunk or channels"
        raise RecordError(f"{message}; remove it to begin anew, or give another --to")
    chunks = size = kept = 0
    with part.open("rb") as file:
        for line in file:
            size += len(line)
            if not kept:
                kept = size  # the header
            elif line.endswith(b"\n") and line.startswith(b'{"end":') and read_line(line.decode()).end is not None:
                chunks, kept = chunks + 1, size
    with part.open("r+b") as file:
        file.truncate(kept)
    return chunks


def finish(part: Path, to: Path) -> RecordingHeader:
    """The whole recording out of a complete part file, compressed, the same bytes for the same content."""
    digest, count = hashlib.sha256(), 0
    with part.open("rb") as file:
        header = read_header(file.readline().decode())
        for line in file:
            digest.update(line)
            count += 1
    header = replace(header, lines=count, sha256=digest.hexdigest())
    written = to.with_name(to.name + ".new")
    with written.open("wb") as raw, _packed(raw) as text, part.open(encoding="utf-8", newline="") as file:
        file.readline()
        text.write(write_header(header))
        for body in file:
            text.write(body)
    written.replace(to)
    part.unlink()
    return header


def _packed(raw: IO[bytes]) -> TextIOWrapper:
    # No name and no time of writing in the gzip header.
    return TextIOWrapper(gzip.GzipFile("", "wb", 9, raw, mtime=0), encoding="utf-8", newline="")


def channel_queries(namespace: str, policy: str, hpa: str | None, with_served: bool) -> dict[str, str]:
    """The selectors of the channels that are wanted."""
    found = {}
    if with_served:
        names = {SERVED: "value", SERVED_TICK: "tick_seconds", SERVED_MISSING: "missing"}
        for channel, name in names.items():
            labels = {"namespace": namespace, "policy": policy}
            found[channel] = promql.selector(f"scaleproof_signal_{name}", labels)
    if hpa is not None:
        name = "kube_horizontalpodautoscaler_status_desired_replicas"
        found[HPA] = promql.selector(name, {"namespace": namespace, "horizontalpodautoscaler": hpa})
    return found
