"""Plans: a policy made ready to run, with every query text written out and every default in place.

Made once when a policy is loaded, so that nothing here costs anything per tick. A raw query is a selector that is asked
with the policy's look-back; a derived query is asked as it stands and may name a freshness selector.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil

from adapter.core import promql
from adapter.core.diagnosis import DiagnosisTable
from adapter.core.guards import EVENT_PRESETS, guard_input
from adapter.core.input_kinds import Kind
from adapter.core.input_plans import Alternative, HistogramPlan, InputPlan, SeriesPlan
from adapter.core.policy import Policy, Spec
from adapter.core.policy_inputs import MissingRule, PresetInput, QueryInput, ReplicasPreset, ReplicasQuery
from adapter.core.presets import PresetLibrary, SeriesPreset, Take
from adapter.core.units import Unit

N_WINDOW_SECONDS = 60.0
"""Replicas as of the grid are the largest spec.replicas of this time, so that a stale reading cannot oscillate."""

SCRAPE_TIMEOUT_SECONDS = 10.0

DEFAULT_SOURCE = "default"
"""The source of `--prometheus`, which a policy asks that names none."""


@dataclass(frozen=True, slots=True)
class ReplicasPlan:
    """Where N and the ready pods are read."""

    spec: InputPlan
    ready: InputPlan | None
    pods: InputPlan | None


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """A policy ready to run. `queries` are the texts to ask at every tick, each once.

    `sent` are the texts that go to the source for them; None until the plan is bound to what a server lets it read.
    """

    policy: Policy
    every: float
    memory_ticks: int
    offset: float
    lookback: float
    inputs: Mapping[str, InputPlan]
    replicas: ReplicasPlan | None
    queries: tuple[tuple[str, bool], ...]
    diagnoses: DiagnosisTable
    roles: Mapping[str, str]
    sent: Mapping[str, str] | None = None

    @property
    def source(self) -> str:
        """The name of the source that is asked."""
        return self.policy.spec.source or DEFAULT_SOURCE

    def asked(self, query: str, is_raw: bool, earlier: float = 0.0) -> str:
        """The text that goes to the source at a tick; a raw one reaches back by `earlier` more to refill a memory."""
        text = query if self.sent is None else self.sent[query]
        return promql.with_range(text, self.lookback + earlier) if is_raw else text


def default_offset(scrape_interval: float) -> float:
    """Seconds after which answers about an instant no longer change: 18 s for a scrape of 15 s, 34 s for 30 s."""
    timeout = min(SCRAPE_TIMEOUT_SECONDS, scrape_interval)
    return float(ceil(max(1.1 * scrape_interval, timeout) + 1))


def plan_policy(policy: Policy, library: PresetLibrary) -> PolicyPlan:
    """The plan of a policy whose preset names and queries have been checked; KeyError or ValueError otherwise."""
    spec = policy.spec
    by = tuple(spec.by)
    inputs = {name: _plan_input(name, declared, policy, library) for name, declared in spec.inputs.items()}
    inputs.update(_guard_inputs(policy, library))
    replicas = _plan_replicas(policy, library, by)
    offset = default_offset(spec.scrape_interval) if spec.offset is None else spec.offset
    every_plan = [*inputs.values(), *_replica_inputs(replicas)]
    lookback = max(max(2 * plan.max_age, plan.window + plan.max_age) for plan in every_plan)
    return PolicyPlan(
        policy=policy,
        every=spec.every,
        memory_ticks=int(_remembered(spec) / spec.every),
        offset=offset,
        lookback=lookback,
        inputs=inputs,
        replicas=replicas,
        queries=_queries(every_plan),
        diagnoses=library.diagnoses,
        roles=_roles(policy, library),
    )


def _roles(policy: Policy, library: PresetLibrary) -> dict[str, str]:
    """The input of each role that the diagnoses know; of several the first."""
    found: dict[str, str] = {}
    for name, declared in policy.spec.inputs.items():
        role = declared.role
        if role is None and isinstance(declared, PresetInput):
            role = library.diagnoses.role_of(declared.preset)
        if role is not None:
            found.setdefault(role, name)
    return found


def _remembered(spec: Spec) -> float:
    """Seconds of ticks that are kept: the memory, or as long as the longest guard needs to see that it has latched."""
    guards = [guard.rule for guard in spec.guards]
    return max([spec.memory, *(rule.max + rule.for_ + spec.every for rule in guards)])


def _guard_inputs(policy: Policy, library: PresetLibrary) -> dict[str, InputPlan]:
    """The inputs that guards bring along: when an event last befell the workload's pods, whether an alert fires."""
    found: dict[str, InputPlan] = {}
    pods = workload_pods(policy, library)
    for guard in policy.spec.guards:
        rule = guard.rule
        name = guard_input(rule)
        if rule.after is not None and name is not None and pods is not None:
            declared = PresetInput(preset=EVENT_PRESETS[rule.after], match={"pod": pods})
            found[name] = _plan_input(name, declared, policy, library)
        elif rule.alert is not None and name is not None:
            query = promql.selector("ALERTS", {"alertname": rule.alert, "alertstate": "firing"})
            own = QueryInput(query=query, unit=Unit.COUNT, per=(), reduce="max")
            found[name] = _plan_query(name, own, policy)
    return found


def _replica_inputs(replicas: ReplicasPlan | None) -> list[InputPlan]:
    if replicas is None:
        return []
    return [plan for plan in (replicas.spec, replicas.ready, replicas.pods) if plan is not None]


def _queries(plans: list[InputPlan]) -> tuple[tuple[str, bool], ...]:
    asked: dict[tuple[str, bool], None] = {}
    for plan in plans:
        for series in plan.series:
            for alternative in series.alternatives:
                asked[(alternative.query, alternative.is_raw)] = None
        if plan.freshness is not None:
            asked[(plan.freshness, True)] = None
    return tuple(asked)


def _plan_input(name: str, declared: PresetInput | QueryInput, policy: Policy, library: PresetLibrary) -> InputPlan:
    if isinstance(declared, QueryInput):
        return _plan_query(name, declared, policy)
    preset = library.input(declared.preset)
    if preset is None:
        raise KeyError(declared.preset)
    namespace = policy.metadata.namespace
    label_names = library.label_names(declared.preset)
    histogram = _histogram(declared) if preset.kind is Kind.HISTOGRAM else None
    return InputPlan(
        name=name,
        unit=Unit.RATIO if declared.is_share else preset.unit,
        per=preset.per,
        by=tuple(policy.spec.by),
        parts=preset.parts if declared.cache is None else (*preset.parts, declared.cache.label),
        reduce=preset.reduce,
        series=tuple(
            SeriesPlan(
                name=series_name,
                alternatives=_alternatives(series, declared.match, label_names, namespace),
                take=series.take,
                scale=series.scale,
                is_optional=series.optional,
            )
            for series_name, series in preset.series.items()
        ),
        share=preset.share,
        gate=preset.gate,
        max_age=declared.max_age,
        window=declared.window or preset.window or (HISTOGRAM_WINDOW_SECONDS if histogram else 0.0),
        missing=declared.missing,
        kind=Kind.CONDITION if declared.is_share_of_hits else preset.kind,
        needs_base=preset.needs_base,
        histogram=histogram,
    )


def _alternatives(
    series: SeriesPreset, match: Mapping[str, str], label_names: tuple[dict[str, str], ...], namespace: str
) -> tuple[Alternative, ...]:
    """Every metric name under every place of the labels; a later place excludes what an earlier one covers.

    A preset reads the policy's own namespace; series that carry no namespace label count as its own.
    """
    wanted = {"namespace": f"~{promql.literal(namespace)}|", **series.match, **match}
    found = []
    for metric in series.metrics:
        for index, names in enumerate(label_names):
            matchers = {names.get(label, label): value for label, value in wanted.items()}
            if names.get("pod", "pod") != "pod":
                matchers.setdefault(names["pod"], "!")
            for earlier in label_names[:index]:
                if "pod" in earlier and names.get("pod") != earlier["pod"]:
                    matchers.setdefault(earlier["pod"], "")
            found.append(Alternative(promql.selector(metric, matchers), True, names))
    return tuple(found)


HISTOGRAM_WINDOW_SECONDS = 120.0
DEFAULT_QUANTILE = 0.95


def _histogram(declared: PresetInput | QueryInput) -> HistogramPlan:
    quantile = DEFAULT_QUANTILE if declared.quantile is None else declared.quantile
    return HistogramPlan(quantile, declared.slower_than, declared.share_above, declared.min_count, declared.cache)


def _plan_query(name: str, declared: QueryInput, policy: Policy) -> InputPlan:
    is_histogram = declared.is_histogram
    is_raw = promql.kind_of(declared.query) is promql.QueryKind.SELECTOR
    adds = declared.reduce in ("sum", "mean", "max", "min")
    return InputPlan(
        name=name,
        unit=Unit.RATIO if declared.is_share else declared.unit,
        per=declared.per,
        by=tuple(policy.spec.by),
        parts=None if adds or is_histogram else (),
        reduce=declared.reduce,
        series=(SeriesPlan("value", (Alternative(declared.query.strip(), is_raw),)),),
        share=None,
        max_age=declared.max_age,
        window=(declared.window or HISTOGRAM_WINDOW_SECONDS) if is_histogram else 0.0,
        missing=declared.missing,
        freshness=declared.freshness,
        kind=Kind.CONDITION if declared.is_share_of_hits else Kind.HISTOGRAM if is_histogram else Kind.GAUGE,
        histogram=_histogram(declared) if is_histogram else None,
    )


def _plan_replicas(policy: Policy, library: PresetLibrary, by: tuple[str, ...]) -> ReplicasPlan | None:
    declared = policy.spec.replicas
    if declared is None:
        return None
    if isinstance(declared, ReplicasQuery):
        spec = _replica_input("replicas", (_own(declared.query),), (), by, declared.max_age)
        ready = None
        if declared.ready is not None:
            ready = _replica_input("ready", (_own(declared.ready),), (), by, declared.max_age)
        return ReplicasPlan(spec, ready, None)
    return _plan_replicas_preset(policy, declared, library, by)


def _own(query: str) -> Alternative:
    return Alternative(query.strip(), promql.kind_of(query) is promql.QueryKind.SELECTOR)


def workload_pods(policy: Policy, library: PresetLibrary) -> str | None:
    """The matcher of the names of the workload's pods, as far as its replicas tell: `~OWNER-…`."""
    declared = policy.spec.replicas
    if not isinstance(declared, ReplicasPreset):
        return None
    preset = library.replicas(declared.preset)
    owner = declared.match.get(preset.pods_of or "") if preset is not None else None
    if preset is None or not owner or owner.startswith("~"):
        return None
    return f"~{promql.literal(owner)}{preset.pod_suffix}"


def _plan_replicas_preset(
    policy: Policy, declared: ReplicasPreset, library: PresetLibrary, by: tuple[str, ...]
) -> ReplicasPlan:
    preset = library.replicas(declared.preset)
    if preset is None:
        raise KeyError(declared.preset)
    namespace = policy.metadata.namespace

    def read(name: str, series: SeriesPreset, match: Mapping[str, str], per: tuple[str, ...]) -> InputPlan:
        return _replica_input(name, _alternatives(series, match, ({},), namespace), per, by, declared.max_age)

    workload = ("namespace", preset.pods_of) if preset.pods_of else ("namespace",)
    pods = None
    names = workload_pods(policy, library)
    if preset.pods is not None and names is not None:
        kept = {label: value for label, value in declared.match.items() if label != preset.pods_of}
        pods = read("pods", preset.pods, {**kept, "pod": names}, ("pod",))
    return ReplicasPlan(
        spec=read("replicas", preset.spec, declared.match, workload),
        ready=read("ready", preset.ready, declared.match, workload),
        pods=pods,
    )


def _replica_input(
    name: str, alternatives: tuple[Alternative, ...], per: tuple[str, ...], by: tuple[str, ...], max_age: float
) -> InputPlan:
    take = Take.LARGEST if name == "replicas" else Take.LATEST
    # Two exporters that tell the same (kube-state-metrics for availability) are counted once, the larger believed.
    return InputPlan(
        name=name,
        unit=Unit.COUNT,
        per=per,
        by=by,
        parts=None,
        reduce="max",
        series=(SeriesPlan("value", alternatives, take),),
        share=None,
        max_age=max_age,
        window=N_WINDOW_SECONDS,
        missing=MissingRule(),
    )
