"""The terms of a policy: rules that turn inputs into demand, each a model of its own.

Models only; the arithmetic stands in demand.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from adapter.core.policy_fields import (
    Directed,
    DirectedNumber,
    DirectedShare,
    Fraction,
    InputName,
    Model,
    Rate,
    Share,
    Span,
)
from adapter.core.refusals import refuse
from adapter.core.units import Unit, parse_bytes, parse_number, parse_share


class UpDown(Model):
    """Two values, one per direction."""

    up: object = Field(description="Value that makes U.")
    down: object = Field(description="Value that makes D; at least as much free as upwards.")


class WindowShape(Model):
    """What is taken of a term's demand over a window; `sustained` takes min upwards, max downwards."""

    window: Span | None = Field(default=None, description="How far back the demand is looked at.")
    take: Literal["max", "min", "mean", "ewma"] | Fraction | None = Field(
        default=None, description="What is taken of the window: max, min, mean, ewma, or a quantile such as 0.9."
    )
    sustained: Span | None = Field(
        default=None,
        description="Only demand that lasted this long counts: the window's min upwards, its max downwards.",
    )

    @model_validator(mode="after")
    def _one_form(self) -> "WindowShape":
        if (self.sustained is None) == (self.window is None) or (self.window is None) != (self.take is None):
            raise refuse("shape", "a shape names window and take, or sustained", SHAPE_FORMS)
        return self


SHAPE_FORMS = "write {window: 2m, take: max} (or min, mean, ewma, 0.9), or {sustained: 1m}"


class TrendShape(Model):
    """A straight line through the window, looked ahead by the horizon (the cold start where nothing is said)."""

    window: Span = Field(description="Time through which the straight line is laid.")
    horizon: Span | None = Field(
        default=None, description="How far ahead it looks; the cold start where nothing is said."
    )


class Shape(Model):
    """How a term's demand is shaped over time, by direction."""

    up: WindowShape | None = Field(default=None, description="What shapes U.")
    down: WindowShape | None = Field(default=None, description="What shapes D.")
    trend: TrendShape | None = Field(
        default=None, description="Looks ahead upwards, to at most 1.5 times the plain demand."
    )


class TermBase(Model):
    """What every term may say."""

    when: str | None = Field(
        default=None, description='The term asks only while this expression over the inputs is true, e.g. "gpu > 70%".'
    )
    shape: Shape | None = Field(default=None, description="How its demand is shaped over time.")


class Drain(Model):
    """A backlog to be drained, added to a proportional term."""

    backlog: InputName = Field(description="Input of waiting requests.")
    drain: Span | None = Field(
        default=None,
        description=("Time in which the backlog should be gone; the cold start, at least 60s, where nothing is said."),
    )
    rate_per_replica: Rate | None = Field(
        default=None, description="Throughput of one replica, in place of capacity's."
    )


class ThroughputTerm(TermBase):
    """Arrivals over a share of what one replica can do."""

    throughput: InputName = Field(description="Input of arrivals per second; completions saturate and are refused.")
    share: DirectedShare = Field(
        default=Directed(0.8, 0.8), description="Share of the measured rate that a replica should carry."
    )
    rate_per_replica: Rate | None = Field(
        default=None, description="Throughput of one saturated replica, in place of capacity's."
    )
    plus: Drain | None = Field(default=None, description="A backlog whose drain is added.")


class BacklogTerm(Drain, TermBase):
    """Waiting requests over what one replica drains in the time given."""


class ConcurrencyTerm(TermBase):
    """Requests in flight over what one replica should hold."""

    concurrency: InputName = Field(description="Input of requests in flight, running and waiting.")
    per_replica: DirectedNumber = Field(
        description="Requests in flight that one replica should hold, at 80% of its best throughput."
    )


class UtilizationTerm(TermBase):
    """Sum of the pods' utilizations over the target."""

    utilization: InputName = Field(description="Input that is a share of one, per pod.")
    target: DirectedShare = Field(
        description=("Share at which a replica is used well; above 0.9 it never asks for another, which is refused.")
    )


Amount = float | str


def parse_amount(value: object, unit: Unit) -> float:
    """A share for a ratio or percent input, bytes for a bytes input, else a number."""
    if unit.base is Unit.RATIO:
        return parse_share(value)
    return parse_bytes(value) if unit is Unit.BYTES else parse_number(value)


class HeadroomTerm(TermBase):
    """Use above the base over the room that one replica may fill."""

    headroom: InputName = Field(description="Input of what is used: a share, bytes or a count, per pod.")
    base: Amount = Field(default=0, description="What an idle replica uses already: weights and pools do not divide.")
    capacity: Amount | None = Field(default=None, description="What a replica has; 1 for a share.")
    keep_free: Amount | UpDown = Field(
        description="What should stay free on each replica, or {up, down} with at least as much downwards."
    )


class LatencyTerm(TermBase):
    """Percentile over objective; raises only."""

    latency: InputName = Field(description="Input of a histogram of seconds, with quantile.")
    objective: Span = Field(description="Time that the percentile should keep to.")
    max_step: Share = Field(
        default=0.5, description="Share by which one step may raise the ready replicas, once per cold start and window."
    )


class ExpressionTerm(TermBase):
    """Demand in replicas by an expression over inputs; `down` gives D where it differs."""

    expression: str = Field(description='Replicas needed, as an expression over the inputs, e.g. "queue / 8".')
    down: str | None = Field(
        default=None, description="Expression for D, the most that can be justified, where it differs."
    )


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
