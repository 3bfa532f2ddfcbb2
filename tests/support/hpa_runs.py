"""Running the HPA model over a list of loads, for tests that tell a story."""

from collections.abc import Iterable
from pathlib import Path

from sim.hpa.account import Account
from sim.hpa.flags import NANOSECONDS_PER_SECOND, ControllerFlags
from sim.hpa.manifest import Manifest, read_manifests
from sim.hpa.observation import Observation, Reading
from sim.hpa.reconcile import Decision, reconcile
from sim.hpa.spec import Spec, resolve
from sim.hpa.state import State


def the_manifest(file: Path) -> Manifest:
    """The one valid HPA of a file."""
    manifests, problems = read_manifests(file.read_text(), str(file))
    assert not problems, [str(problem) for problem in problems]
    assert len(manifests) == 1
    return manifests[0]


def decide(
    spec: Spec,
    readings: tuple[Reading, ...],
    replicas: int,
    ready: int | None = None,
    flags: ControllerFlags | None = None,
) -> tuple[Decision, Account]:
    """One decision of a fresh controller that has already recorded nothing, with its account."""
    account = Account()
    seen = Observation(replicas, replicas, replicas if ready is None else ready, readings)
    flags = flags or ControllerFlags()
    return reconcile(resolve(spec, flags), State(), seen, flags.sync_instant_ns(0), account), account


def run(
    spec: Spec,
    loads: Iterable[tuple[int, tuple[Reading, ...]]],
    replicas: int,
    flags: ControllerFlags | None = None,
    state: State | None = None,
) -> list[tuple[int, Decision]]:
    """(seconds, decision) for loads given as (seconds, readings); all pods are ready at once."""
    autoscaler, state = resolve(spec, flags or ControllerFlags()), state or State()
    decided = []
    for seconds, readings in loads:
        seen = Observation(replicas, replicas, replicas, readings)
        decision = reconcile(autoscaler, state, seen, seconds * NANOSECONDS_PER_SECOND)
        state, replicas = decision.state, decision.replicas
        decided.append((seconds, decision))
    return decided
