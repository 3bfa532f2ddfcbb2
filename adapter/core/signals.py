"""Signals: what a policy publishes at an instant, and the account of how it came about.

The account is built with the value, never afterwards, so that it cannot differ from it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isinf

from adapter.core.diagnosis import Diagnosis
from adapter.core.quantity import write_milli
from adapter.core.reasons import Missing


@dataclass(frozen=True, slots=True)
class InputWhy:
    """One input as it was read; `total` is in the base unit, `as_of` the time of its oldest sample in use."""

    name: str
    unit: str
    pods: int
    total: float | None
    smallest: float | None
    largest: float | None
    as_of: float | None
    reason: str | None
    message: str


@dataclass(frozen=True, slots=True)
class TermWhy:
    """One term's demand interval in replicas; `down` is None where it is unbounded."""

    name: str
    kind: str
    up: float
    down: float | None
    text: str


@dataclass(frozen=True, slots=True)
class GuardWhy:
    """One guard's word: whether it holds, and which way (`down`: nothing may go, `up`: nothing may come)."""

    is_holding: bool
    direction: str
    text: str


@dataclass(frozen=True, slots=True)
class Why:
    """How a signal came about: inputs, terms, the interval, N, and what decided."""

    t: float
    instant: float
    inputs: tuple[InputWhy, ...]
    terms: tuple[TermWhy, ...]
    up: float | None
    down: float | None
    n: float | None
    ready: int | None
    decided_by: str
    steps: tuple[str, ...]
    notes: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None
    guards: tuple[GuardWhy, ...] = ()

    def as_data(self) -> dict[str, object]:
        """Plain data for JSON; an unbounded number is null."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Signal:
    """A value that may be served, in milli-units, with the time of its oldest sample (epoch seconds)."""

    value_milli: int
    as_of: float
    why: Why
    is_at_ceiling: bool = False
    """Whether more was asked for than the ceiling allows."""

    @property
    def text(self) -> str:
        """The value as a Kubernetes quantity."""
        return write_milli(self.value_milli)


@dataclass(frozen=True, slots=True)
class NoSignal:
    """Nothing to serve, and why."""

    missing: Missing
    why: Why | None = None


@dataclass(frozen=True, slots=True)
class GroupSignal:
    """The signal of one group of a policy, under the labels it is served with."""

    labels: Mapping[str, str]
    outcome: Signal | NoSignal


def finite_or_none(value: float) -> float | None:
    """None for an unbounded number, which JSON cannot hold."""
    return None if isinf(value) else value
