"""Bench "operate": what `scaleproof serve` costs whoever runs it, beside answering.

1,000 policies of one query each: CPU time of a tick, memory, the time from the start of the process to the first and
the last value, CPU time while nothing is due, the reload of one file of a thousand. And one policy of 10,000 signals,
which asks as many queries as one of a single signal. The adapter is a process of its own; its figures are read from
/proc and its own metrics. Beside it the floor: the same query over HTTP, decoded, and nothing else.
"""

import re
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import requests

from adapter.benches.credentials import Credentials, make_credentials
from adapter.benches.processes import BenchError, Child, Served, policy_text, running_adapter
from sim.measurements import Measurement, take

POLICIES = 1000
FLEET = 10_000
EVERY_SECONDS = 5
MEMORY = "200s"  # 40 ticks, as many as the default: 10 minutes of every 15 s
NEVER = "1h"
TICKS = 4
RELOADS = 10
VALUES_SECONDS = 120.0
QUERY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class OperateMeasurement(Measurement):
    """A line with figures of its own."""

    more: dict[str, float] = field(default_factory=dict)

    def figures(self) -> dict[str, object]:
        """As JSON."""
        return {**Measurement.figures(self), **self.more}


def measure(seconds: float) -> list[Measurement]:
    """The tick of 1,000 policies first, then all else."""
    with tempfile.TemporaryDirectory(prefix="scaleproof-bench-") as name:
        folder = Path(name)
        credentials = make_credentials(folder)
        lines = [*_thousand(folder, credentials), *_idle(folder, credentials, seconds)]
        lines += _fleet(folder, credentials)
        return [*lines, _floor(folder, seconds)]


def _thousand(folder: Path, credentials: Credentials) -> list[Measurement]:
    started = time.monotonic()
    with running_adapter(folder, credentials, 1, POLICIES, f"{EVERY_SECONDS}s", MEMORY) as served:
        first = _wait_for_values(served, 1, 0.02) - started
        first_cpu = served.child.cpu_seconds()
        every = _wait_for_values(served, POLICIES, 0.2) - started
        every_cpu = served.child.cpu_seconds()
        tick = _ticks(served, "operate", f"evaluations of {POLICIES:,} policies", 1)
    words = f"start: a value {first:.1f} s, all {every:.1f} s"
    figures = {
        "first_value_seconds": round(first, 2),
        "first_value_cpu_seconds": first_cpu,  # what it takes where nobody else wants the processor
        "all_values_seconds": round(every, 2),
        "all_values_cpu_seconds": every_cpu,
    }
    return [tick, OperateMeasurement("start", words, POLICIES / every, more=figures)]


def _ticks(served: Served, key: str, name: str, signals: int) -> OperateMeasurement:
    """Signals per CPU second over some ticks; `signals` is how many an evaluation has."""
    _sleep_into_tick()
    cpu, before = served.child.cpu_seconds(), [_metric(served, one) for one in (_QUERIES, _EVALUATIONS)]
    time.sleep(TICKS * EVERY_SECONDS)
    spent = served.child.cpu_seconds() - cpu
    asked, evaluated = (
        _metric(served, one) - earlier for one, earlier in zip((_QUERIES, _EVALUATIONS), before, strict=True)
    )
    if not evaluated:
        raise BenchError("nothing was evaluated")
    each = spent / evaluated
    more = {
        "evaluation_cpu_ms": round(1000 * each, 3),
        "queries_per_evaluation": round(asked / evaluated, 2),
        "rss_now_mib": round(served.child.current_rss_mib(), 1),
    }
    return OperateMeasurement(key, name, signals / each, served.child.rss_mib(), more=more)


_QUERIES = 'scaleproof_queries_total{outcome="success"}'
_EVALUATIONS = "scaleproof_evaluation_seconds_count"


def _sleep_into_tick() -> None:
    """Until most of a tick is over, so that none begins or ends while figures are read."""
    rest = (0.9 * EVERY_SECONDS - time.time() % EVERY_SECONDS) % EVERY_SECONDS
    time.sleep(rest)


def _idle(folder: Path, credentials: Credentials, seconds: float) -> list[Measurement]:
    """While nothing is due: CPU time by itself, then of a file that changes."""
    with running_adapter(folder, credentials, 1, POLICIES, NEVER, NEVER) as served:
        _wait_for_values(served, POLICIES, 0.2)
        time.sleep(4)  # the looks at files that are too young to be trusted
        window = max(10.0, seconds)
        cpu = served.child.cpu_seconds()
        time.sleep(window)
        share = (served.child.cpu_seconds() - cpu) / window
        before = [_metric(served, f"scaleproof_policy_reload_seconds_{one}") for one in ("sum", "count")]
        for number in range(RELOADS):
            _change(served.policies / "queue-0.yaml", number)
            _wait_for(lambda number=number: _reloads(served) >= before[1] + number + 1, "a reload")  # type: ignore[misc]
        spent = _metric(served, "scaleproof_policy_reload_seconds_sum") - before[0]
        reload = spent / (_reloads(served) - before[1])
    idle_words, reload_words = f"idle: {100 * share:.2f} % of a core", f"reload of one file: {1000 * reload:.0f} ms"
    return [
        OperateMeasurement("idle", idle_words, POLICIES / max(share, 1e-6), more={"core_share": round(share, 5)}),
        OperateMeasurement("reload", reload_words, 1 / reload, more={"reload_ms": round(1000 * reload, 1)}),
    ]


def _reloads(served: Served) -> float:
    return _metric(served, "scaleproof_policy_reload_seconds_count")


def _change(file: Path, number: int) -> None:
    text = policy_text(file.stem, NEVER, NEVER).replace("per_replica: 10", f"per_replica: {20 + number}")
    written = file.with_suffix(".new")
    written.write_text(text)
    written.rename(file)


def _fleet(folder: Path, credentials: Credentials) -> list[Measurement]:
    """One policy of one signal and one of ten thousand, evaluated as often."""
    lines: list[Measurement] = []
    for signals in (1, POLICIES, FLEET):
        with running_adapter(folder, credentials, signals, 1, f"{EVERY_SECONDS}s", MEMORY) as served:
            _wait_for_values(served, 1, 0.2)
            # 40 ticks of memory are refetched at the start, so that it holds what it will hold.
            lines.append(_ticks(served, f"fleet_{signals}", f"1 policy, {signals:,} signals", signals))
    return lines


def _floor(folder: Path, seconds: float) -> Measurement:
    """Queries over HTTP, decoded, per CPU second of this process."""
    upstreams = Child([sys.executable, "-m", "adapter.benches.upstreams", "1"], folder / "floor.log")
    try:
        url = f"http://127.0.0.1:{upstreams.wait_for_line('ready ')}/api/v1/query"
        with closing(requests.Session()) as session:
            session.trust_env = False

            def ask() -> int:
                answer = session.get(url, params={"query": "bench_load[120s]"}, timeout=QUERY_SECONDS)
                return len(answer.json()["data"]["result"])

            return take("floor", "floor: a query over HTTP, decoded", seconds, ask)
    finally:
        upstreams.end()


def _wait_for_values(served: Served, count: int, every_seconds: float) -> float:
    """When so many policies have a value, by the monotonic clock."""
    _wait_for(lambda: _exposition(served).count("\nscaleproof_signal_value{") >= count, "a value", every_seconds)
    return time.monotonic()


def _wait_for(is_there: Callable[[], bool], what: str, every_seconds: float = 0.1) -> None:
    deadline = time.monotonic() + VALUES_SECONDS
    while not is_there():
        if time.monotonic() > deadline:
            raise BenchError(f"not within {VALUES_SECONDS:g} s: {what}")
        time.sleep(every_seconds)


def _metric(served: Served, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", _exposition(served), re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def _exposition(served: Served) -> str:
    try:
        with requests.get(served.metrics_url, timeout=QUERY_SECONDS) as answer:
            return answer.text
    except requests.RequestException as error:
        raise BenchError(f"the adapter's own metrics cannot be read: {type(error).__name__}") from error
