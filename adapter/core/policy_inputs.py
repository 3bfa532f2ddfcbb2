"""The inputs of a policy: presets and own queries, what missing data means, and the replicas.

Models only; how an input becomes queries is the business of plans.
"""

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from adapter.core.policy_fields import Fraction, Label, Model, NotNegative, Span
from adapter.core.refusals import refuse
from adapter.core.units import Unit


class MissingRule(Model):
    """What follows when an input has no data, or only part of it."""

    action: Literal["rise_only", "error", "hold", "assume"] = Field(
        default="rise_only", description="Which rule it is; written as the key hold or assume, or as the word alone."
    )
    hold: Span | None = Field(
        default=None, description="The last complete value keeps asking while its samples are at most this old."
    )
    assume: NotNegative | None = Field(
        default=None, description="Each pod that does not report counts as this, in the input's base unit."
    )
    scale_down: Literal["allowed"] | None = Field(
        default=None, description="Let replicas go on data that is not there; without it they never do."
    )

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


class CacheSplit(Model):
    """A histogram whose series tell cache hits from misses by a label; its two modes are never mixed."""

    label: Label = Field(description="The label that tells hits from misses, e.g. cache.")
    hit: str = Field(default="hit", description="Its value for a hit; every other value is a miss.")
    read: Literal["misses", "hits", "share_of_hits"] = Field(
        default="misses", description="What is read: the percentile of either alone, or the share of hits."
    )


class InputBase(Model):
    """What every input may say."""

    missing: MissingRule = Field(
        default=MissingRule(),
        description="What follows when there is no data, or only part: rise_only, error, hold or assume.",
    )
    role: str | None = Field(
        default=None,
        description="Its part in the diagnosis: gpu, vram, kv, queue, hit_ratio, throttled, memory or drift.",
    )
    max_age: Span = Field(default=60.0, description="A sample older than this is stale.")
    window: Span | None = Field(
        default=None,
        description="Time over which rates and histograms are taken; the preset's own where nothing is said.",
    )
    idle: float | str | None = Field(
        default=None,
        description="What one idle replica shows of it, e.g. 72GiB or 90%; a term must not scale on that part.",
    )
    quantile: Fraction | None = Field(default=None, description="Percentile of a histogram, e.g. 0.95.")
    slower_than: Span | None = Field(
        default=None,
        description=(
            "Percentile of only what is slower than this split, where fast answers (cache hits) hide slow ones."
        ),
    )
    share_above: Span | None = Field(
        default=None, description="Instead of a percentile the share of requests slower than this split."
    )
    cache: CacheSplit | None = Field(
        default=None,
        description="For a histogram that tells cache hits from misses by a label: which are read.",
    )
    min_count: NotNegative = Field(
        default=20.0, description="Requests in the window below which a histogram says nothing."
    )

    @property
    def is_share(self) -> bool:
        """Whether it is a share of requests rather than a time."""
        return self.share_above is not None or self.is_share_of_hits

    @property
    def is_share_of_hits(self) -> bool:
        """Whether it is the share of requests that the cache answered."""
        return self.cache is not None and self.cache.read == "share_of_hits"

    @property
    def is_histogram(self) -> bool:
        """Whether it says something that only a histogram can answer."""
        return self.quantile is not None or self.is_share or self.cache is not None


class PresetInput(InputBase):
    """An input by the name of a preset; `match` narrows it to the workload."""

    preset: str = Field(
        description=("FAMILY/NAME of a preset, which knows names, labels and units; `scaleproof presets` lists them.")
    )
    match: dict[Label, str] = Field(
        default_factory=dict,
        description=(
            "Labels that narrow it to the workload; a value that begins with ~ is an anchored regular expression."
        ),
    )


class QueryInput(InputBase):
    """An input by an own PromQL query."""

    query: Annotated[str, Field(min_length=1, max_length=4000)] = Field(
        description="PromQL, a plain selector where possible: its samples carry their own time."
    )
    unit: Unit = Field(description="Unit of the samples as they arrive; percent becomes a ratio.")
    per: tuple[Label, ...] = Field(
        default=("pod",),
        description="Labels that tell one pod from another; empty for one number that belongs to no pod.",
    )
    reduce: Literal["sum", "mean", "max", "min", "any"] | None = Field(
        default=None, description="How the series of one pod become one number; without it two are duplicate-series."
    )
    freshness: Annotated[str, Field(min_length=1, max_length=4000)] | None = Field(
        default=None, description="For a computed query the selector whose samples tell how old the data is."
    )


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

    query: Annotated[str, Field(min_length=1, max_length=4000)] = Field(description="PromQL that gives spec.replicas.")
    ready: Annotated[str, Field(min_length=1, max_length=4000)] | None = Field(
        default=None, description="PromQL that gives the number of ready pods."
    )
    max_age: Span = Field(default=60.0, description="A sample older than this is stale.")


class ReplicasPreset(Model):
    """Replicas by a preset of the family kube."""

    preset: str = Field(description="FAMILY/NAME of a preset for replicas, e.g. kube/deployment-replicas.")
    match: dict[Label, str] = Field(
        default_factory=dict, description="Labels that name the workload, e.g. {deployment: chat}."
    )
    max_age: Span = Field(default=60.0, description="A sample older than this is stale.")


Replicas = Annotated[
    Annotated[ReplicasPreset, Tag("<preset>")] | Annotated[ReplicasQuery, Tag("<query>")],
    Discriminator(
        lambda value: _input_kind(value),
        custom_error_type="input-source",
        custom_error_message="replicas names a preset or a query, one of them",
    ),
]
