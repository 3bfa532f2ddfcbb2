"""The policy document: what a ScalingPolicy may say, its defaults and the ranges it allows.

Every default has its one home in these models. They are frozen and strict: a key that is not known is refused, never
ignored. Positions in the file, lints and presets are the business of other modules.
"""

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from adapter.core.policy_fields import (
    KUBERNETES_NAME,
    KUBERNETES_NAMESPACE,
    METRIC_NAME,
    Every,
    InputName,
    Label,
    Memory,
    Model,
    NotNegative,
    Number,
    Rate,
    Span,
    Wait,
)
from adapter.core.policy_inputs import Input, Replicas
from adapter.core.policy_stability import Budget, CombineRule, Schedule, Stability
from adapter.core.policy_terms import Term
from adapter.core.refusals import refuse

API_VERSION = "scaleproof.dev/v1alpha1"
KIND = "ScalingPolicy"
MAX_TICKS = 20_000
MAX_INPUTS = 64
MAX_TERMS = 32


class Metadata(Model):
    """Name and namespace, by Kubernetes' own rules; labels and annotations are carried and not read."""

    name: Annotated[str, KUBERNETES_NAME]
    namespace: Annotated[str, KUBERNETES_NAMESPACE]
    labels: dict[str, str] = Field(default_factory=dict)
    annotations: dict[str, str] = Field(default_factory=dict)


class Capacity(Model):
    """What one replica can do, measured, and how long a new one needs."""

    rate_per_replica: Rate | None = None
    cold_start: Span | None = None


class HoldScaleDown(Model):
    """What a guard waits for, for how long after it was last so, and for how long at most without a break."""

    after: Literal["oom-kill", "restart", "xid"] | None = None
    when: str | None = None
    alert: Annotated[str, METRIC_NAME] | None = None
    for_: Span = Field(alias="for", default=600.0)
    max: Span = 1800.0

    @model_validator(mode="after")
    def _one_cause(self) -> "HoldScaleDown":
        if sum(cause is not None for cause in (self.after, self.when, self.alert)) != 1:
            raise refuse("guard-cause", "a guard names after, when or alert, one of them", "e.g. {when: 'vram > 95%'}")
        if self.max < self.for_:
            message = f"max {self.max:g}s is below for {self.for_:g}s"
            raise refuse("guard-cause", message, "write a max of at least for: it ends a hold that would last")
        return self


class Guard(Model):
    """A rule that keeps replicas from going."""

    hold_scale_down: HoldScaleDown


class Publish(Model):
    """Under which name and in which unit the signal is served."""

    metric: Annotated[str, METRIC_NAME]
    as_: Literal["replicas", "total", "ratio"] = Field(alias="as", default="replicas")
    floor: NotNegative | None = None
    ceiling: Number | None = None
    schedule: tuple[Schedule, ...] = ()
    budget: Budget | None = None
    sum: bool = False
    labels: dict[Label, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _ordered(self) -> "Publish":
        if self.floor is not None and self.ceiling is not None and self.floor > self.ceiling:
            message = f"floor {self.floor:g} is above ceiling {self.ceiling:g}"
            raise refuse("floor-above-ceiling", message, "lower the floor or raise the ceiling")
        return self


class Override(Model):
    """What is different for one group of a fleet."""

    capacity: Capacity | None = None
    floor: NotNegative | None = None
    ceiling: Number | None = None


class Spec(Model):
    """The rules of one policy."""

    every: Every = 15.0
    memory: Memory = 600.0
    scrape_interval: Span = 15.0
    offset: Wait | None = None
    by: dict[Label, tuple[str, ...]] = Field(default_factory=dict)
    overrides: dict[str, Override] = Field(default_factory=dict)
    replicas: Replicas | None = None
    inputs: dict[InputName, Input] = Field(min_length=1, max_length=MAX_INPUTS)
    capacity: Capacity = Capacity()
    terms: dict[InputName, Term] = Field(min_length=1, max_length=MAX_TERMS)
    combine: CombineRule = "max"
    stability: Stability = Stability()
    guards: tuple[Guard, ...] = ()
    publish: Publish

    @field_validator("by", mode="before")
    @classmethod
    def _by_list(cls, value: object) -> object:
        if isinstance(value, list):
            return dict.fromkeys(value, ())
        return {key: names or () for key, names in value.items()} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _memory_holds_ticks(self) -> "Spec":
        if self.memory < self.every or self.memory / self.every > MAX_TICKS:
            message = f"memory {self.memory:g}s must hold from 1 to {MAX_TICKS} evaluations of every {self.every:g}s"
            raise refuse("memory-range", message, "write e.g. every: 15s and memory: 10m")
        return self


class Policy(Model):
    """One ScalingPolicy document."""

    apiVersion: Literal["scaleproof.dev/v1alpha1"]
    kind: Literal["ScalingPolicy"]
    metadata: Metadata
    spec: Spec

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name, by which a policy is known."""
        return (self.metadata.namespace, self.metadata.name)
