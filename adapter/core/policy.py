"""The policy document: what a ScalingPolicy may say, its defaults and the ranges it allows.

Every default has its one home in these models. They are frozen and strict: a key that is not known is refused, never
ignored. Positions in the file, lints and presets are the business of other modules.
"""

from math import prod
from typing import Literal

from pydantic import Field, field_validator, model_validator

from adapter.core.policy_fields import (
    Every,
    InputName,
    KubernetesName,
    KubernetesNamespace,
    Label,
    Memory,
    MetricName,
    Model,
    NotNegative,
    Number,
    Rate,
    SourceName,
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
MAX_GUARDS = 32
MAX_SCHEDULES = 32
MAX_OVERRIDES = 10_000
MAX_TERMS = 32
MAX_GROUPS = 10_000
"""Groups that a policy may declare: every combination of the values of its labels."""


class Metadata(Model):
    """Name and namespace, by Kubernetes' own rules; labels and annotations are carried and not read."""

    name: KubernetesName = Field(description="Name of the policy, unique in its namespace.")
    namespace: KubernetesNamespace = Field(
        description="Namespace of the workload and its HPA; presets read the series of this namespace."
    )
    labels: dict[str, str] = Field(default_factory=dict, description="Carried and not read.")
    annotations: dict[str, str] = Field(
        default_factory=dict,
        description="Carried; scaleproof.dev/ignore names the lints to silence, each with a reason.",
    )


class Capacity(Model):
    """What one replica can do, measured, and how long a new one needs."""

    rate_per_replica: Rate | None = Field(
        default=None, description="Throughput of one saturated replica, measured, e.g. 4.4/s."
    )
    cold_start: Span | None = Field(
        default=None, description="Time from the wish for a replica until it serves: image, weights and warm-up."
    )


class Hold(Model):
    """What a guard waits for, for how long after it was last so, and for how long at most without a break."""

    after: Literal["oom-kill", "restart", "xid"] | None = Field(
        default=None,
        description=(
            "Hold after an event of the workload's pods: a kill for memory, a container's restart, or "
            "a change of the XID error code of a GPU."
        ),
    )
    when: str | None = Field(
        default=None, description='Hold while this expression over the inputs is true, e.g. "vram > 95%".'
    )
    alert: MetricName | None = Field(default=None, description="Hold while this alert of Prometheus fires.")
    for_: Span = Field(alias="for", default=600.0, description="How long it holds after its cause was last true.")
    max: Span = Field(default=1800.0, description="How long it holds at most without a break, so that it cannot latch.")

    @model_validator(mode="after")
    def _one_cause(self) -> "Hold":
        if sum(cause is not None for cause in (self.after, self.when, self.alert)) != 1:
            raise refuse("guard-cause", "a guard names after, when or alert, one of them", "e.g. {when: 'vram > 95%'}")
        if self.max < self.for_:
            message = f"max {self.max:g}s is below for {self.for_:g}s"
            raise refuse("guard-cause", message, "write a max of at least for: it ends a hold that would last")
        return self


class Guard(Model):
    """A rule that keeps replicas from going, or from coming."""

    hold_scale_down: Hold | None = Field(
        default=None, description="Replicas do not go while it holds; they may still come."
    )
    hold_scale_up: Hold | None = Field(
        default=None, description="Replicas do not come while it holds; they may still go."
    )

    @model_validator(mode="after")
    def _one_direction(self) -> "Guard":
        if (self.hold_scale_down is None) == (self.hold_scale_up is None):
            raise refuse("guard-cause", "a guard is hold_scale_down or hold_scale_up, one of them", GUARD_FORMS)
        return self

    @property
    def direction(self) -> Literal["down", "up"]:
        """What the guard holds."""
        return "down" if self.hold_scale_down is not None else "up"

    @property
    def rule(self) -> Hold:
        """The rule, whatever its direction."""
        rule = self.hold_scale_down or self.hold_scale_up
        if rule is None:
            raise TypeError("a guard without a rule")
        return rule


GUARD_FORMS = "e.g. {hold_scale_down: {when: 'vram > 95%', for: 5m}}"


class Publish(Model):
    """Under which name and in which unit the signal is served."""

    metric: MetricName = Field(description="Name that the HPA asks for, in any case; unique in the namespace.")
    as_: Literal["replicas", "total", "ratio"] = Field(
        alias="as",
        default="replicas",
        description=(
            'What is served: replicas (HPA target AverageValue "1"), the total of the one input '
            '(AverageValue), or demand ÷ N (Value "1").'
        ),
    )
    floor: NotNegative | None = Field(
        default=None, description="The value is at least this; it never turns a missing signal into a value."
    )
    ceiling: Number | None = Field(default=None, description="The value is at most this.")
    schedule: tuple[Schedule, ...] = Field(
        default=(), max_length=MAX_SCHEDULES, description="Floors and ceilings by the clock."
    )
    budget: Budget | None = Field(default=None, description="A ceiling by the GPUs there are.")
    sum: bool = Field(
        default=False, description="Whether a selector that matches several groups is answered, which the HPA adds up."
    )
    labels: dict[Label, str] = Field(
        default_factory=dict, description="Labels of the metric beside those of the group."
    )

    @model_validator(mode="after")
    def _ordered(self) -> "Publish":
        if self.floor is not None and self.ceiling is not None and self.floor > self.ceiling:
            message = f"floor {self.floor:g} is above ceiling {self.ceiling:g}"
            raise refuse("floor-above-ceiling", message, "lower the floor or raise the ceiling")
        return self


class Override(Model):
    """What is different for one group of a fleet."""

    capacity: Capacity | None = Field(default=None, description="Capacity of this group, in place of the policy's.")
    floor: NotNegative | None = Field(default=None, description="Floor of this group.")
    ceiling: Number | None = Field(default=None, description="Ceiling of this group.")


class Spec(Model):
    """The rules of one policy."""

    every: Every = Field(default=15.0, description="Time between evaluations, on the clock's own grid.")
    memory: Memory = Field(
        default=600.0,
        description="How far shaping, guards and holds look back; kept in ticks and fetched anew at a start.",
    )
    scrape_interval: Span = Field(
        default=15.0,
        description="Scrape interval of the Prometheus that is asked; offset and freshness follow from it.",
    )
    offset: Wait | None = Field(
        default=None,
        description=(
            "How long before the tick answers are asked for; 18s for a scrape interval of 15s where nothing is said."
        ),
    )
    by: dict[Label, tuple[str, ...]] = Field(
        default_factory=dict,
        description=(
            "Labels that make one signal per value, with the values that there must be; a list of "
            "labels where they are only seen."
        ),
    )
    overrides: dict[str, Override] = Field(
        default_factory=dict,
        max_length=MAX_OVERRIDES,
        description="What is different for one group, by the value of its label.",
    )
    source: SourceName | None = Field(
        default=None,
        description="The Prometheus to ask, by its name in the server's configuration; the server's own where absent.",
    )
    replicas: Replicas | None = Field(default=None, description="Where N (spec.replicas) and the ready pods are read.")
    inputs: dict[InputName, Input] = Field(
        min_length=1, max_length=MAX_INPUTS, description="Named numbers per pod, each by a preset or an own query."
    )
    capacity: Capacity = Field(default=Capacity(), description="What one replica can do.")
    terms: dict[InputName, Term] = Field(
        min_length=1, max_length=MAX_TERMS, description="Rules that turn inputs into demand, in replicas."
    )
    combine: CombineRule = Field(default="max", description="How the demands of the terms become one.")
    stability: Stability = Field(default=Stability(), description="What keeps a signal from moving, none by default.")
    guards: tuple[Guard, ...] = Field(
        default=(), max_length=MAX_GUARDS, description="What keeps replicas from going for a while."
    )
    publish: Publish = Field(description="What the HPA asks for and gets.")

    @field_validator("by", mode="before")
    @classmethod
    def _by_list(cls, value: object) -> object:
        if isinstance(value, list):
            if not all(isinstance(label, str) for label in value):
                raise refuse("name-invalid", "by is a list of label names", "write e.g. by: [model_name]")
            return dict.fromkeys(value, ())
        return {key: names or () for key, names in value.items()} if isinstance(value, dict) else value

    @field_validator("by")
    @classmethod
    def _by_bounded(cls, value: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
        if (count := prod(len(names) for names in value.values())) > MAX_GROUPS:
            fix = "declare fewer, or leave the values of a label out"
            raise refuse("value-range", f"{count} groups are declared, at most {MAX_GROUPS} are allowed", fix)
        return value

    @model_validator(mode="after")
    def _memory_holds_ticks(self) -> "Spec":
        if self.memory < self.every or self.memory / self.every > MAX_TICKS:
            message = f"memory {self.memory:g}s must hold from 1 to {MAX_TICKS} evaluations of every {self.every:g}s"
            raise refuse("memory-range", message, "write e.g. every: 15s and memory: 10m")
        return self


class Policy(Model):
    """One ScalingPolicy document."""

    apiVersion: Literal["scaleproof.dev/v1alpha1"] = Field(description="Version of this language.")
    kind: Literal["ScalingPolicy"] = Field(description="What the document is.")
    metadata: Metadata = Field(description="Name and namespace.")
    spec: Spec = Field(description="The rules.")

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name, by which a policy is known."""
        return (self.metadata.namespace, self.metadata.name)
