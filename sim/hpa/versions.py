"""What differs between Kubernetes versions, as a table; a version that is not in it is refused by name.

Only 1.36 is held against its real controller. The others are read in their sources (release notes and code), so what
they decide here is marked "not verified against a controller".
"""

from dataclasses import dataclass

DEFAULT_VERSION = "1.36"


class NotModelledError(ValueError):
    """Something exists in Kubernetes that this model does not have; the message names it."""


@dataclass(frozen=True, slots=True)
class Version:
    """One Kubernetes minor version, as far as the HorizontalPodAutoscaler goes."""

    name: str
    is_verified: bool
    scale_to_zero_by_default: bool
    """Default of the gate HPAScaleToZero."""
    tolerance_gate_exists: bool
    """Whether HPAConfigurableTolerance can still be switched off."""
    remembers_own_zero: bool
    """Whether the condition ScaledToZero exists; without it, 0 replicas pause only while minReplicas is not 0."""
    starts_at_once: bool
    """Whether a new HPA is reconciled at once instead of after one sync period."""

    @property
    def note(self) -> str:
        """What an output that used this version has to say."""
        return f"Kubernetes {self.name}" + ("" if self.is_verified else ", not verified against a controller")


VERSIONS = {
    version.name: version
    for version in (
        Version("1.35", False, False, True, remembers_own_zero=False, starts_at_once=False),
        Version("1.36", True, False, True, remembers_own_zero=True, starts_at_once=False),
        Version("1.37", False, True, False, remembers_own_zero=True, starts_at_once=True),
    )
}


DEFAULT = VERSIONS[DEFAULT_VERSION]


def find_version(name: str) -> Version:
    """The version of that name; NotModelledError says which ones there are."""
    try:
        return VERSIONS[name]
    except KeyError:
        raise NotModelledError(f'Kubernetes "{name}" is not modelled; there are {", ".join(VERSIONS)}') from None
