"""Bench "serve": GETs of a metric over TLS with a client certificate, and what they cost the adapter.

The adapter is the real `scaleproof serve`: identity by the front proxy's certificate, authorization by
SubjectAccessReview asked of a stub API server and kept ten seconds, a label selector in each request, signals evaluated
each 15 s from a stub Prometheus. Client, adapter and stubs are processes of their own; CPU time and memory are the
adapter's alone, its evaluations included. Beside it the floor: aiohttp and TLS with a body that is ready.
"""

import ssl
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import uvloop

from adapter.benches.credentials import Credentials, make_credentials
from adapter.benches.load import LoadError, Tally, load, request
from adapter.benches.processes import BenchError, Served, running_adapter, running_floor

CONNECTIONS = (16, 1, 64)
SIGNALS = (1000, 100, 1)
POLICIES = 1000
ROUNDS = 3
FIRST_TICK_SECONDS = 90.0
WARM_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ServeMeasurement:
    """One line of the result."""

    key: str
    name: str
    per_second: float
    cpu_seconds_per_1000: float
    rss_mib: float
    p50_ms: float
    p99_ms: float

    def figures(self) -> dict[str, object]:
        """As JSON."""
        return {
            "per_second": round(self.per_second),
            "cpu_seconds_per_1000": round(self.cpu_seconds_per_1000, 4),
            "rss_mib": round(self.rss_mib, 1),
            "p50_ms": round(self.p50_ms, 2),
            "p99_ms": round(self.p99_ms, 2),
        }


def measure(seconds: float) -> list[ServeMeasurement]:
    """With 1,000 signals and 16 connections first, then all the others."""
    measured: list[ServeMeasurement] = []
    with tempfile.TemporaryDirectory(prefix="scaleproof-bench-") as name:
        folder = Path(name)
        credentials = make_credentials(folder)
        context = _client_context(credentials)
        body = b""
        for signals in SIGNALS:
            with running_adapter(folder, credentials, signals, policies=1) as served:
                body = _wait_for_values(served, context)
                label = f"{signals} signal{'s' if signals > 1 else ''}"
                measured += _lines(served, context, f"signals_{signals}", label, CONNECTIONS, seconds)
        with running_adapter(folder, credentials, 1, POLICIES) as served:
            _wait_for_values(served, context)
            measured += _lines(served, context, f"policies_{POLICIES}", f"{POLICIES} policies", (16,), seconds)
        with running_floor(folder, credentials, body) as served:
            measured += _lines(served, context, "floor", "floor: aiohttp + TLS", CONNECTIONS, seconds)
    return measured


def _client_context(credentials: Credentials) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(credentials.authority))
    context.load_cert_chain(credentials.front_proxy.certificate, credentials.front_proxy.key)
    return context


def _wait_for_values(served: Served, context: ssl.SSLContext) -> bytes:
    """Wait until every signal has its first tick; the body of an answer."""
    requests = [request(path) for path in served.paths]
    deadline = time.monotonic() + FIRST_TICK_SECONDS
    while True:
        try:
            # Every connection begins at another signal, so that together they ask for all of them.
            (tally,) = _load(served, context, requests, 16, 1, WARM_SECONDS)
            if len(tally.seconds) >= 2 * len(requests) or time.monotonic() > deadline:
                return tally.body
        except LoadError as error:
            if time.monotonic() > deadline:
                raise BenchError(f"no value within {FIRST_TICK_SECONDS:g} s: {error}") from error
        time.sleep(0.5)


def _lines(
    served: Served, context: ssl.SSLContext, key: str, label: str, connections: Sequence[int], seconds: float
) -> list[ServeMeasurement]:
    requests = [request(path) for path in served.paths]
    lines = []
    for count in connections:
        _load(served, context, requests, count, 1, WARM_SECONDS)
        before = served.child.cpu_seconds()
        tallies = _load(served, context, requests, count, ROUNDS, seconds / ROUNDS)
        spent = served.child.cpu_seconds() - before
        answers = sum(len(tally.seconds) for tally in tallies)
        lines.append(
            ServeMeasurement(
                "floor" if (key, count) == ("floor", 16) else f"{key}_c{count}",
                f"{label}, {count} client{'s' if count > 1 else ''}",
                statistics.median(tally.per_second for tally in tallies),
                1000 * spent / answers,
                served.child.rss_mib(),
                statistics.median(tally.p50_ms for tally in tallies),
                statistics.median(tally.p99_ms for tally in tallies),
            )
        )
    return lines


def _load(
    served: Served, context: ssl.SSLContext, requests: Sequence[bytes], connections: int, rounds: int, seconds: float
) -> list[Tally]:
    return uvloop.run(load(served.port, context, requests, connections, rounds, seconds))
