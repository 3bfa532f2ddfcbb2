"""What lints look at, and what they find: shared by the modules of lints, which know nothing of each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from adapter.core.demand import TermPlan
from adapter.core.documents import Path
from adapter.core.guards import GuardPlan
from adapter.core.plans import PolicyPlan
from adapter.core.policy import Policy
from adapter.core.policy_inputs import PresetInput
from adapter.core.presets import PresetLibrary

REPLICAS_FIX = "add replicas: {preset: kube/deployment-replicas, match: {deployment: NAME}}"


class Found(NamedTuple):
    """One finding, before it has a place in a file."""

    path: Path
    code: str
    message: str
    fix: str


@dataclass(frozen=True, slots=True)
class Subject:
    """A policy without errors, with what was planned of it."""

    policy: Policy
    plan: PolicyPlan
    terms: tuple[TermPlan, ...]
    guards: tuple[GuardPlan, ...]
    library: PresetLibrary

    def preset_of(self, name: str) -> str:
        """The name of the preset that an input is by, or an empty text."""
        declared = self.policy.spec.inputs.get(name)
        return declared.preset if isinstance(declared, PresetInput) else ""

    @property
    def preallocating_engine(self) -> str:
        """The first engine of the inputs that takes its VRAM at its start, so that it says nothing about load."""
        families = (self.preset_of(name).partition("/")[0] for name in self.policy.spec.inputs)
        return next((family for family in families if self.library.preallocated(family)), "")

    def ends_with(self, name: str, endings: Mapping[str, str] | tuple[str, ...]) -> bool:
        """Whether an input is by a preset of one of these names, whatever its family."""
        return self.preset_of(name).partition("/")[2] in endings
