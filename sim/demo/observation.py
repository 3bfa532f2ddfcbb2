"""Observations: once a second, what the adapter says about each policy, with what the wire said beside it.

Plain data made from the adapter's two answers; how it is shown is the business of the views.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from adapter.core.quantity import parse_milli

HISTORY = 600


@dataclass(frozen=True, slots=True)
class PolicyView:
    """One signal at one moment: its account (as /explain gives it), the wire's word, and what came before."""

    account: Mapping[str, Any]
    wire: Mapping[str, Any]
    values: tuple[float | None, ...]
    replicas: tuple[float | None, ...]

    @property
    def name(self) -> str:
        """Namespace and name of the policy."""
        return f"{self.account['namespace']}/{self.account['policy']}"

    @property
    def why(self) -> Mapping[str, Any]:
        """The account's account; empty where there is none."""
        return self.account["why"] or {}

    @property
    def value(self) -> float | None:
        """The signal as a number."""
        return self.values[-1]

    @property
    def approximate_replicas(self) -> int | None:
        """What an HPA with AverageValue "1" would set, by the plain formula ⌈value ÷ 1⌉, at least 1.

        No tolerance, windows, limits of speed or unready pods: the exact model is not part of the demonstration.
        """
        return None if self.value is None else max(1, ceil(self.value))


@dataclass(frozen=True, slots=True)
class Observation:
    """All policies at one moment; `trace_seconds` is the place in the trace."""

    time: float
    trace_seconds: float
    policies: tuple[PolicyView, ...]

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        signals = [
            {**one.account, "wire": dict(one.wire), "approximate_hpa_replicas": one.approximate_replicas}
            for one in self.policies
        ]
        return {"t": round(self.time, 3), "trace_s": round(self.trace_seconds, 1), "signals": signals}


class Recorder:
    """Keeps the history that the views draw; bounded."""

    def __init__(self) -> None:
        self._past: dict[tuple[str, ...], deque[tuple[float | None, float | None]]] = {}

    def view(self, account: Mapping[str, Any], wire: Mapping[str, Any]) -> PolicyView:
        """The signal with its past."""
        key = (account["namespace"], account["policy"], *map(str, sorted(account["labels"].items())))
        past = self._past.setdefault(key, deque(maxlen=HISTORY))
        why = account["why"] or {}
        past.append((number(account["value"]), why.get("n")))
        return PolicyView(account, wire, tuple(value for value, _ in past), tuple(n for _, n in past))


def number(text: str | None) -> float | None:
    """A quantity as the adapter writes it."""
    return None if text is None else parse_milli(text) / 1000
