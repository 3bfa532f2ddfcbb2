"""A measurement of a bench, and how to take one: CPU time of this process, in rounds, the median counting.

CPU time rather than the wall clock, so that a busy neighbour on the same machine does not count; the load is one
thread's, so it is the rate of one core. The only module of the simulator that reads a clock.
"""

import resource
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Measurement:
    """One line: so many of something per CPU second of one core."""

    key: str
    """The name in JSON, e.g. "floor"."""
    name: str
    per_second: float
    rss_mib: float | None = None
    bytes_per_signal: int | None = None

    @property
    def cpu_seconds_per_1000(self) -> float:
        return 1000 / self.per_second

    def figures(self) -> dict[str, object]:
        """As JSON."""
        figures: dict[str, object] = {
            "per_second": round(self.per_second),
            "cpu_seconds_per_1000": round(self.cpu_seconds_per_1000, 6),
        }
        if self.rss_mib is not None:
            figures["rss_mib"] = round(self.rss_mib, 1)
        if self.bytes_per_signal is not None:
            figures["bytes_per_signal"] = self.bytes_per_signal
        return figures


def take(key: str, name: str, seconds: float, work: Callable[[], int]) -> Measurement:
    """The median rate of some rounds; `work` does a piece of work and says how many it did."""
    work()
    rates = []
    for _ in range(ROUNDS):
        done, begin = 0, time.process_time()
        while (spent := time.process_time() - begin) < seconds / ROUNDS:
            done += work()
        rates.append(done / spent)
    return Measurement(key, name, statistics.median(rates), rss_mib())


def cpu_seconds() -> float:
    """CPU time that this process has used, for work that is measured once."""
    return time.process_time()


def rss_mib() -> float:
    """The most memory this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
