"""A recording, its policy and its HPA, compared: values tick by tick, then the decisions that they led to."""

from pathlib import Path

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.recordings import policy_hash, queries_of
from sim.replay.parameters import ReplayError
from sim.traces.recording import Recording
from sim.verifying.computing import Computed, computed, first_whole_tick, ticks_in
from sim.verifying.decisions import (
    Controller,
    Decisions,
    compare_decisions,
    ready_over_time,
    recorded_replicas,
    seen_at,
)
from sim.verifying.reporting import Verified
from sim.verifying.values import compare_values


def verify(path: Path, recording: Recording, loaded: LoadedPolicy, controller: Controller | None) -> Verified:
    """Compare all that the recording tells of; ReplayError where it is of another policy."""
    name = "/".join(loaded.policy.key)
    notes, missing = _notes(recording, loaded, name), []
    ticks = list(computed(recording, loaded))
    values = compare_values(recording, loaded, ticks)
    if not ticks:
        span = (loaded.plan.memory_ticks - 1) * loaded.plan.every
        missing.append(f"a tick whose memory was recorded: the first is {span:g} s after the recording's first")
    elif not values.is_told:
        missing.append("what was served: record with --served, where Prometheus scrapes the adapter")
    decisions = None
    if controller is not None and ticks:
        decisions, lack = _decisions(recording, loaded, ticks, controller)
        missing += lack
    sync = controller.sync if controller is not None else 0.0
    return Verified(str(path), name, tuple(notes), values, decisions, tuple(missing), sync)


def _notes(recording: Recording, loaded: LoadedPolicy, name: str) -> list[str]:
    recorded = recording.recorded
    if recorded.policy != name:
        raise ReplayError(f"the recording is of {recorded.policy}, the policy is {name}: give the one it was made with")
    asked = {one.query for one in recorded.queries}
    lost = [one.query for one in queries_of(loaded.plan) if one.query not in asked]
    if lost:
        raise ReplayError(
            f"{lost[0]} was not recorded: the policy asks otherwise now; give it as it was, or record anew"
        )
    if (recorded.every, recorded.offset) != (loaded.plan.every, loaded.plan.offset):
        raise ReplayError("every or offset of the policy is another than that of the recording; give it as it was")
    notes = []
    if recorded.policy_sha256 != policy_hash(loaded.policy):
        notes.append("the policy was changed since it was recorded; a difference may be that of the change")
    skipped = (
        ticks_in(recording) if first_whole_tick(recording, loaded) > recorded.end else loaded.plan.memory_ticks - 1
    )
    if skipped:
        notes.append(f"the first {skipped} ticks are not compared: their memory reaches back before the recording")
    return notes


def _decisions(
    recording: Recording, loaded: LoadedPolicy, ticks: list[Computed], controller: Controller
) -> tuple[Decisions | None, list[str]]:
    published = loaded.policy.spec.publish.metric.lower()
    foreign = [one.name for one in controller.hpa.metrics if one.name.lower() != published]
    if foreign:
        return None, [
            f"the HPA's metric {foreign[0]}, which this policy does not publish: its decisions cannot be told"
        ]
    recorded = recorded_replicas(recording, ticks[0].t)
    if recorded is None:
        return None, ["what the HPA did: record with --hpa NAME, where Prometheus scrapes kube-state-metrics"]
    seen = [seen_at(loaded, controller.hpa, one) for one in ticks]
    return compare_decisions(recorded, seen, ready_over_time(recording), controller), []
