"""How the controller is run: the kube-controller-manager flags, the feature gates and the Kubernetes version.

Times are whole nanoseconds, as the controller has them; the flag's seconds are cut, 0.0000000019 s is 1 ns.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sim.hpa.versions import DEFAULT, NotModelledError, Version

NANOSECONDS_PER_SECOND = 1_000_000_000

SCALE_TO_ZERO_GATE = "HPAScaleToZero"
TOLERANCE_GATE = "HPAConfigurableTolerance"


def nanoseconds(seconds: float) -> int:
    """A flag's seconds as a Go Duration."""
    return int(seconds * 1e9)


@dataclass(frozen=True, slots=True)
class ControllerFlags:
    """One kube-controller-manager; the defaults are those of Kubernetes."""

    sync_period_ns: int = 15 * NANOSECONDS_PER_SECOND
    downscale_stabilization_ns: int = 300 * NANOSECONDS_PER_SECOND
    tolerance: float = 0.1
    reconcile_latency_ns: int = 0
    """How long a reconcile takes until it has read the scale; the next sync period begins after it."""
    version: Version = DEFAULT
    scale_to_zero: bool = False
    configurable_tolerance: bool = True

    def sync_instant_ns(self, index: int) -> int:
        """When reconcile `index` decides, counted from the moment the HPA appears: 15 s, 30 s, 45 s, …"""
        waits = index if self.version.starts_at_once else index + 1
        return waits * self.sync_period_ns + (index + 1) * self.reconcile_latency_ns


def read_gates(version: Version, gates: Mapping[str, bool]) -> tuple[bool, bool]:
    """(HPAScaleToZero, HPAConfigurableTolerance) of a version under `--feature-gates`."""
    for name in gates:
        if name not in (SCALE_TO_ZERO_GATE, TOLERANCE_GATE):
            raise NotModelledError(f"the feature gate {name} is not modelled")
    tolerance = gates.get(TOLERANCE_GATE, True)
    if not tolerance and not version.tolerance_gate_exists:
        raise NotModelledError(f"the feature gate {TOLERANCE_GATE} cannot be off in Kubernetes {version.name}")
    return gates.get(SCALE_TO_ZERO_GATE, version.scale_to_zero_by_default), tolerance
