"""What is replayed, made ready from files: policies, HPA and trace that belong together, and what there is to say."""

from dataclasses import dataclass
from pathlib import Path

from adapter.core.policy_reading import LoadedPolicy
from sim.hpa.manifest import Manifest
from sim.hpa.spec import Spec
from sim.hpa.versions import find_version
from sim.policy_files import load_hpas, load_policies
from sim.replay.default_hpa import default_hpa
from sim.replay.parameters import ReplayError
from sim.traces.opening import open_trace
from sim.traces.options import TraceOptions
from sim.traces.trace import Trace


@dataclass(frozen=True, slots=True)
class Subject:
    """Policies, HPA and trace of a run."""

    policies: tuple[LoadedPolicy, ...]
    hpa: Spec
    trace: Trace
    hpa_words: str
    said: tuple[str, ...]
    """What every output of the run has to say."""

    @property
    def policy_name(self) -> str:
        """The names of the policies."""
        return ", ".join("/".join(one.policy.key) for one in self.policies)


def load_subject(
    policy: Path, trace: Path, hpa: Path | None, kubernetes: str, trace_options: TraceOptions | None = None
) -> Subject:
    """Everything from files; FileRefused, TraceError, NotModelledError or ReplayError tell what is wrong."""
    version = find_version(kubernetes)
    loaded = load_policies(policy)
    said = [] if version.is_verified else [version.note]
    opened = open_trace(trace, trace_options or TraceOptions())
    if opened.header.epoch is None and any(one.rules.schedules for one in loaded):
        said.append("nobody says when the trace's zero was: schedules take it for 1970-01-01T00:00:00Z (--start)")
    if hpa is None:
        if len(loaded) > 1:
            raise ReplayError(f"{policy} has {len(loaded)} policies; say with --hpa which HPA is meant")
        spec, words = default_hpa(loaded[0])
        said.append(words)
        return Subject(tuple(loaded), spec, opened, "generated", tuple(said))
    manifest = _chosen(load_hpas(hpa), loaded, hpa)
    policies = _publishers(manifest, loaded)
    words = f"{manifest.namespace}/{manifest.name} of {hpa}"
    return Subject(policies, manifest.spec(), opened, words, tuple(said))


def _chosen(manifests: list[Manifest], loaded: list[LoadedPolicy], file: Path) -> Manifest:
    """The HPA that asks for what the policies publish."""
    published = {one.policy.spec.publish.metric.lower() for one in loaded}
    asking = [one for one in manifests if published & set(one.external_metrics)]
    if len(asking) == 1:
        return asking[0]
    if asking:
        names = ", ".join(one.name for one in asking)
        raise ReplayError(f"{file} has {len(asking)} HPAs that ask for the policy's metric ({names}); give one")
    asked = ", ".join(sorted({name for one in manifests for name in one.external_metrics})) or "no External metric"
    message = f"{file} asks for {asked}; the policy publishes {', '.join(sorted(published))}: it would get 404 for ever"
    raise ReplayError(message)


def _publishers(manifest: Manifest, loaded: list[LoadedPolicy]) -> tuple[LoadedPolicy, ...]:
    """The policies whose metrics the HPA asks for, which are those of its own namespace."""
    asked = set(manifest.external_metrics)
    found = [one for one in loaded if one.policy.spec.publish.metric.lower() in asked]
    own = tuple(one for one in found if one.policy.metadata.namespace == manifest.namespace)
    if not own:
        elsewhere = found[0].policy.metadata.namespace
        message = f"the HPA {manifest.name} is in the namespace {manifest.namespace}, the policy in {elsewhere}"
        raise ReplayError(f"{message}: it would get 404 for ever; put both into one")
    return own
