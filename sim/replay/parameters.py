"""The parameters of a replay, with every default in its one home.

A run is a function of the policy, the trace, the HPA and these, the seed included.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log
from random import Random

from adapter.core.units import parse_duration
from sim.hpa.versions import DEFAULT_VERSION


class ReplayError(ValueError):
    """What was given cannot be replayed; the message says why and what to do."""


class Mode(StrEnum):
    """What is played of the trace (docs/replay.md has a worked number for each)."""

    AS_RECORDED = "as-recorded"  # the samples as they are, of the pods that there were
    TOTALS_KEPT = "totals-kept"  # the totals, spread over the replicas of the simulation
    SIGNAL = "signal"  # what was published, not what it was computed from


P95_SIGMAS = 1.6448536269514722
"""The 95th percentile of the normal distribution, in standard deviations."""

_LOGNORMAL = re.compile(r"lognormal:(?P<p50>[^,]+),(?P<p95>[^,]+)")


@dataclass(frozen=True, slots=True)
class Startup:
    """Seconds from a pod's creation until it is ready: constant, or lognormal by its 50th and 95th percentile."""

    p50: float = 0.0
    p95: float | None = None

    def draw(self, random: Random) -> float:
        """The time of one pod; nothing is drawn where it is constant."""
        if self.p95 is None or self.p50 <= 0:
            return self.p50
        sigma = log(self.p95 / self.p50) / P95_SIGMAS
        return exp(log(self.p50) + sigma * random.gauss(0.0, 1.0))

    @property
    def text(self) -> str:
        """In words."""
        return f"{self.p50:g} s" if self.p95 is None else f"lognormal, p50 {self.p50:g} s, p95 {self.p95:g} s"


def parse_startup(text: str) -> Startup:
    """`120s`, or `lognormal:180s,420s` with the 50th and 95th percentile; ValueError says what is wrong."""
    match = _LOGNORMAL.fullmatch(text)
    if match is None:
        return Startup(parse_duration(text))
    p50, p95 = parse_duration(match["p50"].strip()), parse_duration(match["p95"].strip())
    if not 0 < p50 <= p95:
        raise ValueError(f'"{text}": p95 must be at least p50, and both above 0')
    return Startup(p50, p95)


@dataclass(frozen=True, slots=True)
class Parameters:
    """Everything beside policy, trace and HPA; None where the default depends on them. Times in seconds."""

    mode: Mode = Mode.AS_RECORDED
    kubernetes: str = DEFAULT_VERSION
    sync: float = 15.0
    """Sync period of the HPA controller."""
    hpa_phase: float = 0.0
    """The first sync is this long after the first tick; at 0 a sync sees the tick of the same instant."""
    hpa_latency: float = 0.0
    """How long a reconcile takes; the next period begins after it."""
    scrape: float | None = None
    """Scrape interval: of the simulated replicas the policy's; of the trace, where given, else its rows are samples."""
    scrape_phase: float = 0.0
    fill: float | None = None
    """How long a value stands in for a row that is missing or blank; nothing is filled where it is None."""
    offset: float | None = None
    """None: the policy's."""
    evaluation_phase: float = 0.0
    """Ticks are at k × every + this."""
    startup: Startup | None = None
    """None: the policy's cold_start, else ready at once."""
    replicas: int | None = None
    """At the start; None: what the trace recorded first, else the HPA's minReplicas."""
    seed: int = 1

    def __post_init__(self) -> None:
        for name in ("sync", "scrape", "fill"):
            value = getattr(self, name)
            if value is not None and not 0.001 <= value <= 86_400 * 366:
                raise ReplayError(f"{name} {value:g} s must be from 1 ms to 366 days")
        for name in ("hpa_phase", "hpa_latency", "scrape_phase", "offset", "evaluation_phase"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= 86_400:
                raise ReplayError(f"{name} {value:g} s must be from 0 to one day")
        if self.replicas is not None and not 0 <= self.replicas <= 1_000_000:
            raise ReplayError(f"replicas {self.replicas} must be from 0 to 1,000,000")
