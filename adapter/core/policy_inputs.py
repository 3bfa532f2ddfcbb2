"""The inputs of a policy: presets and own queries, what missing data means, and the replicas.

Models only; how an input becomes queries is the business of plans.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from adapter.core.policy_fields import Label, Model, NotNegative, Span
from adapter.core.refusals import between, refuse
from adapter.core.units import Unit, parse_number


class MissingRule(Model):
    """What follows when an input has no data, or only part of it."""

    action: Literal["rise_only", "error", "hold", "assume"] = "rise_only"
    hold: Span | None = None
    assume: NotNegative | None = None
    scale_down: Literal["allowed"] | None = None

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: object) -> object:
        if isinstance(value, str):
            if value not in ("rise_only", "error"):
                raise refuse("missing-rule", f'"{value}" is no rule for missing data', MISSING_FORMS)
            return {"action": value}
        if isinstance(value, dict) and value:
            named = [key for key in ("hold", "assume") if value.get(key) is not None]
            if len(named) != 1 or "action" in value:
                raise refuse("missing-rule", "a rule for missing data names hold or assume, one of them", MISSING_FORMS)
            return {**value, "action": named[0]}
        return value


MISSING_FORMS = "write rise_only, error, {hold: 2m} or {assume: 0}, with scale_down: allowed if it may scale down"


class InputBase(Model):
    """What every input may say."""

    missing: MissingRule = MissingRule()
    role: str | None = None
    max_age: Span = 60.0
    window: Span | None = None
    quantile: Annotated[float, between(parse_number, 0, 1, "a number from 0 to 1")] | None = None
    slower_than: Span | None = None
    share_above: Span | None = None
    min_count: NotNegative = 20.0


class PresetInput(InputBase):
    """An input by the name of a preset; `match` narrows it to the workload."""

    preset: str
    match: dict[Label, str] = Field(default_factory=dict)


class QueryInput(InputBase):
    """An input by an own PromQL query."""

    query: Annotated[str, Field(min_length=1, max_length=4000)]
    unit: Unit
    per: tuple[Label, ...] = ("pod",)
    reduce: Literal["sum", "mean", "max", "min", "any"] | None = None
    freshness: Annotated[str, Field(min_length=1, max_length=4000)] | None = None


def _input_kind(value: Any) -> str | None:
    if isinstance(value, dict):
        return "<preset>" if "preset" in value else "<query>" if "query" in value else None
    return "<query>" if isinstance(value, QueryInput | ReplicasQuery) else "<preset>"


Input = Annotated[
    Annotated[PresetInput, Tag("<preset>")] | Annotated[QueryInput, Tag("<query>")],
    Discriminator(
        _input_kind,
        custom_error_type="input-source",
        custom_error_message="an input names a preset or a query, one of them",
    ),
]


class ReplicasQuery(Model):
    """Replicas by own queries: `query` gives spec.replicas, `ready` the ready pods (spec.replicas where absent)."""

    query: Annotated[str, Field(min_length=1, max_length=4000)]
    ready: Annotated[str, Field(min_length=1, max_length=4000)] | None = None
    max_age: Span = 60.0


class ReplicasPreset(Model):
    """Replicas by a preset of the family kube."""

    preset: str
    match: dict[Label, str] = Field(default_factory=dict)
    max_age: Span = 60.0


Replicas = Annotated[
    Annotated[ReplicasPreset, Tag("<preset>")] | Annotated[ReplicasQuery, Tag("<query>")],
    Discriminator(
        lambda value: _input_kind(value),
        custom_error_type="input-source",
        custom_error_message="replicas names a preset or a query, one of them",
    ),
]
