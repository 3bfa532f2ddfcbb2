"""The terms of a policy: rules that turn inputs into demand, each a model of its own.

Models only; the arithmetic stands in demand.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Tag, model_validator

from adapter.core.policy_fields import (
    Directed,
    DirectedNumber,
    DirectedShare,
    InputName,
    Model,
    Rate,
    Share,
    Span,
)
from adapter.core.refusals import between, refuse
from adapter.core.units import Unit, parse_bytes, parse_number, parse_share


class UpDown(Model):
    """Two values, one per direction."""

    up: object
    down: object


class WindowShape(Model):
    """What is taken of a term's demand over a window; `sustained` takes min upwards, max downwards."""

    window: Span | None = None
    take: (
        Literal["max", "min", "mean", "ewma"] | Annotated[float, between(parse_number, 0, 1, "from 0 to 1")] | None
    ) = None
    sustained: Span | None = None

    @model_validator(mode="after")
    def _one_form(self) -> "WindowShape":
        if (self.sustained is None) == (self.window is None) or (self.window is None) != (self.take is None):
            raise refuse("shape", "a shape names window and take, or sustained", SHAPE_FORMS)
        return self


SHAPE_FORMS = "write {window: 2m, take: max} (or min, mean, ewma, 0.9), or {sustained: 1m}"


class TrendShape(Model):
    """A straight line through the window, looked ahead by the horizon (the cold start where nothing is said)."""

    window: Span
    horizon: Span | None = None


class Shape(Model):
    """How a term's demand is shaped over time, by direction."""

    up: WindowShape | None = None
    down: WindowShape | None = None
    trend: TrendShape | None = None


class TermBase(Model):
    """What every term may say."""

    when: str | None = None
    shape: Shape | None = None


class Drain(Model):
    """A backlog to be drained, added to a proportional term."""

    backlog: InputName
    drain: Span | None = None
    rate_per_replica: Rate | None = None


class ThroughputTerm(TermBase):
    """Arrivals over a share of what one replica can do."""

    throughput: InputName
    share: DirectedShare = Directed(0.8, 0.8)
    rate_per_replica: Rate | None = None
    plus: Drain | None = None


class BacklogTerm(Drain, TermBase):
    """Waiting requests over what one replica drains in the time given."""


class ConcurrencyTerm(TermBase):
    """Requests in flight over what one replica should hold."""

    concurrency: InputName
    per_replica: DirectedNumber


class UtilizationTerm(TermBase):
    """Sum of the pods' utilizations over the target."""

    utilization: InputName
    target: DirectedShare


Amount = float | str


def parse_amount(value: object, unit: Unit) -> float:
    """A share for a ratio or percent input, bytes for a bytes input, else a number."""
    if unit.base is Unit.RATIO:
        return parse_share(value)
    return parse_bytes(value) if unit is Unit.BYTES else parse_number(value)


class HeadroomTerm(TermBase):
    """Use above the base over the room that one replica may fill."""

    headroom: InputName
    base: Amount = 0
    capacity: Amount | None = None
    keep_free: Amount | UpDown


class LatencyTerm(TermBase):
    """Percentile over objective; raises only."""

    latency: InputName
    objective: Span
    max_step: Share = 0.5


class ExpressionTerm(TermBase):
    """Demand in replicas by an expression over inputs; `down` gives D where it differs."""

    expression: str
    down: str | None = None


TERM_KINDS: Mapping[str, type[TermBase]] = {
    "throughput": ThroughputTerm,
    "backlog": BacklogTerm,
    "concurrency": ConcurrencyTerm,
    "utilization": UtilizationTerm,
    "headroom": HeadroomTerm,
    "latency": LatencyTerm,
    "expression": ExpressionTerm,
}


def _term_kind(value: Any) -> str | None:
    if isinstance(value, dict):
        named = [kind for kind in TERM_KINDS if kind in value]
        return f"<{named[0]}>" if len(named) == 1 else None
    return next((f"<{kind}>" for kind, model in TERM_KINDS.items() if type(value) is model), None)


Term = Annotated[
    Annotated[ThroughputTerm, Tag("<throughput>")]
    | Annotated[BacklogTerm, Tag("<backlog>")]
    | Annotated[ConcurrencyTerm, Tag("<concurrency>")]
    | Annotated[UtilizationTerm, Tag("<utilization>")]
    | Annotated[HeadroomTerm, Tag("<headroom>")]
    | Annotated[LatencyTerm, Tag("<latency>")]
    | Annotated[ExpressionTerm, Tag("<expression>")],
    Discriminator(
        _term_kind,
        custom_error_type="term-kind",
        custom_error_message="a term names exactly one of " + ", ".join(TERM_KINDS),
    ),
]
