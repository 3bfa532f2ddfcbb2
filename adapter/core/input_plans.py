"""Input plans: what to ask for one input, and how the answers become one number per pod.

Types only; plans make them from policies and presets, readings follow them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from adapter.core.input_kinds import Kind
from adapter.core.policy_inputs import CacheSplit, MissingRule
from adapter.core.presets import GatePreset, SharePreset, Take
from adapter.core.units import Unit

POD_LABELS = ("pod", "exported_pod", "pod_name", "kubernetes_pod_name")
"""Labels under which a pod's name stands on series: the plain one, and what older relabelling made of it."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """One query that may give a series, and the labels on it under which the canonical ones stand."""

    query: str
    is_raw: bool
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SeriesPlan:
    """One series of an input: of its alternatives, per pod the first that answers counts."""

    name: str
    alternatives: tuple[Alternative, ...]
    take: Take = Take.LATEST
    scale: float = 1.0
    is_optional: bool = False


@dataclass(frozen=True, slots=True)
class HistogramPlan:
    """What is read from buckets: a percentile, of all or of those slower than a split, or the share above a split.

    Below `min_count` observations in the window it says nothing: one slow request of three is no trend.
    """

    quantile: float
    slower_than: float | None
    share_above: float | None
    min_count: float
    cache: CacheSplit | None = None


@dataclass(frozen=True, slots=True)
class InputPlan:
    """One input: what to ask and how its answers become one number per pod.

    `parts` are the labels that tell the series of one pod apart; None means that any other label does.
    """

    name: str
    unit: Unit
    per: tuple[str, ...]
    by: tuple[str, ...]
    parts: tuple[str, ...] | None
    reduce: str | None
    series: tuple[SeriesPlan, ...]
    share: SharePreset | None
    max_age: float
    window: float
    missing: MissingRule
    freshness: str | None = None
    gate: GatePreset | None = None
    kind: Kind = Kind.GAUGE
    needs_base: bool = False
    histogram: HistogramPlan | None = None
    is_plain: bool = field(init=False, compare=False)
    """Whether it is one query whose samples are its numbers."""

    def __post_init__(self) -> None:
        is_single = len(self.series) == 1 and len(self.series[0].alternatives) == 1
        is_bare = self.histogram is None and self.freshness is None and self.gate is None and self.share is None
        object.__setattr__(self, "is_plain", is_single and is_bare)

    @property
    def pod_place(self) -> int | None:
        """Where in an entity the pod's name stands; None if the input is not told apart by pods."""
        if self.histogram is not None:
            return None
        return _pod_place(self.per)


@lru_cache(maxsize=1024)
def _pod_place(per: tuple[str, ...]) -> int | None:
    return next((per.index(label) for label in POD_LABELS if label in per), None)
