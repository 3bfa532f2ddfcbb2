"""Recordings as traces: what a policy asked and what Prometheus answered, each sample with its own time and labels.

A sample's input is the text of its query, so that whoever plays it asks as in production. Read chunk by chunk, so that
only one chunk is held; the checksum is verified as the file is first read, and what follows rests on it.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from adapter.core.recordings import (
    FORMAT_NAME,
    ROLE_READY,
    ROLE_REPLICAS,
    RecordedLine,
    RecordingError,
    RecordingHeader,
    read_header,
    read_line,
)
from sim.traces.files import open_text
from sim.traces.options import refuse
from sim.traces.trace import READY, REPLICAS, TraceError, TraceHeader, TraceSample, holes_in

__all__ = ["FORMAT_NAME", "Recording"]

_PSEUDO = {ROLE_REPLICAS: REPLICAS, ROLE_READY: READY}
MAX_LINE_CHARACTERS = 64 * 1024 * 1024


class Recording:
    """A recording in a file, a trace that begins at its first tick's instant."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.recorded: RecordingHeader = self._read_header()
        recorded = self.recorded
        self._zero = recorded.start - recorded.offset
        self._verify()
        names = [one.query for one in recorded.queries]
        pseudo = [_PSEUDO[one.role] for one in recorded.queries if one.role is not None]
        holes = holes_in((sample.time for sample in self.samples()), recorded.scrape_interval)
        # Which pods report at one time says nothing: each is scraped at a time of its own. So has_pods stays False.
        self._header = TraceHeader(
            inputs=tuple(dict.fromkeys([*names, *pseudo])),
            start=0.0,
            end=recorded.end - recorded.start,
            step=recorded.scrape_interval,
            epoch=self._zero,
            source=str(path),
            notes=(f"recorded for {recorded.policy} every {recorded.every:g} s, asked {recorded.offset:g} s back",),
            holes=holes,
            is_recording=True,
        )

    @property
    def header(self) -> TraceHeader:
        """What was recorded; `recorded` tells all of it."""
        return self._header

    def samples(self) -> Iterator[TraceSample]:
        """All samples of the queries, in the order of time, and the replicas once more under their own name."""
        queries = self.recorded.queries
        for chunk in self._chunks():
            found = []
            for line in chunk:
                if not isinstance(line.channel, int):
                    continue
                query = queries[line.channel]
                pseudo = _PSEUDO.get(query.role or "")
                for time, value in zip(line.times, line.values, strict=True):
                    found.append(TraceSample(time - self._zero, query.query, float(value), line.labels))
                    if pseudo is not None:
                        found.append(TraceSample(time - self._zero, pseudo, float(value)))
            found.sort(key=lambda sample: sample.time)
            yield from found

    def channel(self, name: str) -> Iterator[RecordedLine]:
        """The lines of a channel beside the queries, "served" or "hpa", with times in epoch seconds."""
        for chunk in self._chunks():
            yield from (line for line in chunk if line.channel == name)

    def _read_header(self) -> RecordingHeader:
        with open_text(self._path) as text:
            try:
                return read_header(text.readline(MAX_LINE_CHARACTERS))
            except RecordingError as error:
                raise refuse(f"{self._path}:1", str(error), "make it anew with `scaleproof record`") from error

    def _verify(self) -> None:
        digest, lines = hashlib.sha256(), 0
        with open_text(self._path) as text:
            text.readline(MAX_LINE_CHARACTERS)
            while line := text.readline(MAX_LINE_CHARACTERS):
                digest.update(line.encode())
                lines += 1
        fix = "it was changed or cut off: record it anew, or take a copy that is whole"
        if not self.recorded.sha256:
            raise refuse(f"{self._path}:1", "the recording was never completed", "run `scaleproof record` again")
        if lines != self.recorded.lines:
            raise refuse(f"{self._path}", f"{lines} lines, the header says {self.recorded.lines}", fix)
        if digest.hexdigest() != self.recorded.sha256:
            raise refuse(f"{self._path}", "the checksum is not the one in its header", fix)

    def _chunks(self) -> Iterator[list[RecordedLine]]:
        count, number = len(self.recorded.queries), 1
        chunk: list[RecordedLine] = []
        with open_text(self._path) as text:
            text.readline(MAX_LINE_CHARACTERS)
            while line := text.readline(MAX_LINE_CHARACTERS):
                number += 1
                try:
                    found = read_line(line)
                except RecordingError as error:
                    raise TraceError(f"{self._path}:{number}: {error}") from error
                if found.end is not None:
                    yield chunk
                    chunk = []
                elif isinstance(found.channel, int) and not 0 <= found.channel < count:
                    raise TraceError(f"{self._path}:{number}: there is no query {found.channel}")
                else:
                    chunk.append(found)
