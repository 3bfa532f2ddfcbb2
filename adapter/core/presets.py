"""Presets: what a metric of a known exporter means, one data file a family.

A preset names series (with their renames, oldest last), the labels under which the workload's pod stands, how the
series of one pod become its number, and the unit. The files are data; reading them from disk is the shell's business.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from adapter.core.diagnosis import DiagnosisTable
from adapter.core.input_kinds import Kind
from adapter.core.policy_fields import Fraction, Label, Model, Number, Span
from adapter.core.units import Unit


class Take(StrEnum):
    """What is taken from the samples of one series."""

    LATEST = "latest"
    RATE = "rate"  # increase of a counter per second over the window, resets counted
    LARGEST = "largest"  # largest of a gauge in the window
    EVENT = "event"  # epoch seconds at which it last changed to something above 0; 0 if it did not
    CHANGE = "change"  # last less first of a gauge, per second over the window; may be negative


class SeriesPreset(Model):
    """One series of a preset; several metrics are renames of one thing, of which a pod's first counts."""

    metric: str | tuple[str, ...]
    take: Take = Take.LATEST
    scale: Number = 1.0
    optional: bool = False
    match: dict[Label, str] = Field(default_factory=dict)

    @property
    def metrics(self) -> tuple[str, ...]:
        """The names in the order in which they are believed."""
        return (self.metric,) if isinstance(self.metric, str) else self.metric


class SharePreset(Model):
    """The share that the series `used` has in the sum of the series `of`.

    `instead` is a series that gives the share itself, for pods that have none of `of`: an older exporter's gauge.
    """

    used: str
    of: tuple[str, ...]
    instead: str | None = None


class GatePreset(Model):
    """The value of one series where another is above 0, else 0."""

    value: str
    where: str


class Preset(Model):
    """One named input. `scale` of a histogram's series is that of its bounds, e.g. 0.001 for milliseconds."""

    about: str
    unit: Unit
    per: tuple[Label, ...] = ("pod",)
    parts: tuple[Label, ...] = ()
    reduce: Literal["sum", "mean", "max", "min"] = "sum"
    labels: str = "direct"
    series: dict[str, SeriesPreset] = Field(min_length=1)
    share: SharePreset | None = None
    gate: GatePreset | None = None
    window: Span | None = None
    needs_base: bool = False
    kind: Kind = Kind.GAUGE


class ReplicasPresetFile(Model):
    """Where the replicas of a workload are read: spec.replicas, ready pods by number and, where known, by name.

    A pod's name is its owner's, which stands in the label `pods_of`, and what matches `pod_suffix`.
    """

    about: str
    spec: SeriesPreset
    ready: SeriesPreset
    pods: SeriesPreset | None = None
    pods_of: Label | None = None
    pod_suffix: str = "-[a-z0-9]+-[a-z0-9]+"


class PresetFamily(Model):
    """One preset file; `preallocates` is the share of VRAM that an engine takes at its start, whatever the load."""

    apiVersion: Literal["scaleproof.dev/v1alpha1"]
    kind: Literal["PresetFamily"]
    family: str
    preallocates: Fraction | None = None
    labels: dict[str, tuple[dict[Label, Label], ...]] = Field(default_factory=dict)
    presets: dict[str, Preset] = Field(default_factory=dict)
    replicas: dict[str, ReplicasPresetFile] = Field(default_factory=dict)


class PresetLibrary:
    """All presets by `family/name`; immutable once made."""

    def __init__(self, families: Mapping[str, PresetFamily], diagnoses: DiagnosisTable) -> None:
        self.families, self.diagnoses = families, diagnoses
        self._preallocated = {name: family.preallocates or 0.0 for name, family in families.items()}
        self._inputs = {
            f"{name}/{preset}": (family, family.presets[preset])
            for name, family in families.items()
            for preset in family.presets
        }
        self._replicas = {
            f"{name}/{preset}": family.replicas[preset]
            for name, family in families.items()
            for preset in family.replicas
        }

    def preallocated(self, family: str) -> float:
        """The share of VRAM that an engine takes at its start by default; 0 if it takes it as it goes."""
        return self._preallocated.get(family, 0.0)

    def input(self, name: str) -> Preset | None:
        """The preset of that name for an input."""
        found = self._inputs.get(name)
        return found[1] if found else None

    def replicas(self, name: str) -> ReplicasPresetFile | None:
        """The preset of that name for replicas."""
        return self._replicas.get(name)

    def label_names(self, name: str) -> tuple[dict[str, str], ...]:
        """The alternatives of where a preset's labels stand on its series; one empty alternative if they are direct."""
        family, preset = self._inputs[name]
        return family.labels.get(preset.labels, ({},))

    def names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names for inputs and names for replicas, sorted."""
        return tuple(sorted(self._inputs)), tuple(sorted(self._replicas))
