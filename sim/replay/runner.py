"""The runner: policies and an HPA over a trace, sync by sync.

What happens is ordered by (time, kind): faults at instants first, then scrapes, then ticks of the policies, then the
HPA. So at equal times a sync sees the tick of that instant. Pure but for the trace that it reads: a run is a function
of policies, trace, HPA, parameters (the seed among them) and faults. Inside, time is the samples' clock; what is told
is on the trace's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from adapter.core.group_names import alias
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.samples import Answer, Labels, Sample, Series, labels_of
from sim.faults import AdapterRestart, ControllerRestart, Fault, Faults
from sim.hpa.account import Account
from sim.hpa.flags import NANOSECONDS_PER_SECOND, ControllerFlags, nanoseconds
from sim.hpa.observation import Observation
from sim.hpa.reconcile import reconcile
from sim.hpa.spec import Autoscaler, Metric, Spec, resolve
from sim.hpa.state import State, Status, restarted
from sim.hpa.versions import find_version
from sim.replay.carrying import Carrier, CarryRule, Uncarried, carry_rules
from sim.replay.parameters import Mode, Parameters, ReplayError, Startup
from sim.replay.playback import TracePlan, plan_for_trace
from sim.replay.pods import Pods, PodScrapes
from sim.replay.policy_source import PolicySource
from sim.replay.rescraping import Rescraped
from sim.replay.signal_source import SignalSource
from sim.replay.steps import MetricStep, SyncStep
from sim.traces.trace import REPLICAS, Trace

Source = PolicySource | SignalSource

NO_EPOCH_SECONDS = 4 * 604_800.0
"""Where nobody said when a trace's zero was: whole weeks after 1970, so that an event at 0 is long over at its start.

Not many of them: a double of this size still tells nanoseconds apart.
"""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The parameters that depend on policy and trace, as they were chosen, for the output to say."""

    scrape: float
    startup: Startup
    replicas: int
    offset: float


def replay(
    policies: Sequence[LoadedPolicy],
    trace: Trace,
    hpa: Spec,
    parameters: Parameters | None = None,
    faults: Sequence[Fault] = (),
) -> Iterator[SyncStep]:
    """The syncs of a run, in order; ReplayError where it cannot be run."""
    return Run(policies, trace, hpa, parameters or Parameters(), faults).steps()


class Run:
    """One run, made ready; `uncarried` and `notes` tell what to know about it, complete once it has ended."""

    def __init__(
        self,
        policies: Sequence[LoadedPolicy],
        trace: Trace,
        hpa: Spec,
        parameters: Parameters,
        faults: Sequence[Fault] = (),
    ) -> None:
        if not policies:
            raise ReplayError("there is no policy to replay")
        self.parameters, self.hpa, self.policies = parameters, hpa, tuple(policies)
        first = policies[0]
        self._faults = Faults(faults)
        scrape = parameters.scrape or min(one.policy.spec.scrape_interval for one in policies)
        cold_start = first.policy.spec.capacity.cold_start or 0.0
        startup = parameters.startup or Startup(cold_start)
        is_spread = trace.header.is_recording and parameters.mode is Mode.TOTALS_KEPT
        if parameters.scrape is not None or parameters.fill is not None or is_spread:
            trace = Rescraped(trace, scrape, parameters.scrape_phase, parameters.fill)
        self.trace = trace
        header = trace.header
        self._zero = NO_EPOCH_SECONDS if header.epoch is None else header.epoch
        self.uncarried: dict[tuple[str, str], Uncarried] = {}
        self.notes: list[str] = [*header.notes]
        replicas = parameters.replicas
        if replicas is None:
            replicas = _recorded_replicas(trace) if REPLICAS in header.inputs else None
        self._start = header.start + self._zero
        offset = first.plan.offset if parameters.offset is None else parameters.offset
        self.chosen = Chosen(scrape, startup, hpa.minimum if replicas is None else replicas, offset)
        self._pods = Pods(self.chosen.replicas, startup, parameters.seed, self._start)
        self._autoscaler = resolve(hpa, self._flags())
        self._plans: list[TracePlan] = []
        self._carrier: Carrier | None = None
        self._sources = self._make_sources()
        self._group = _group_of(hpa, policies)
        self._by_metric = [self._source_of(metric) for metric in hpa.metrics]
        if not any(self._by_metric):
            names = ", ".join(one.policy.spec.publish.metric for one in policies)
            asked = ", ".join(metric.name for metric in hpa.metrics)
            raise ReplayError(f"the HPA asks for {asked}; published is {names}: it would get 404 for ever")

    def _flags(self) -> ControllerFlags:
        version = find_version(self.parameters.kubernetes)
        return ControllerFlags(
            sync_period_ns=nanoseconds(self.parameters.sync),
            reconcile_latency_ns=nanoseconds(self.parameters.hpa_latency),
            version=version,
            scale_to_zero=version.scale_to_zero_by_default or self.hpa.minimum == 0,
        )

    def _make_sources(self) -> list[Source]:
        header, parameters = self.trace.header, self.parameters
        if parameters.mode is Mode.SIGNAL:
            signal = SignalSource(self.policies[0], self.trace, self._zero, self._faults)
            self.notes += signal.notes
            return [signal]
        rules: dict[str, CarryRule] = {}
        with_names = parameters.mode is Mode.TOTALS_KEPT
        plans = [plan_for_trace(one.plan, header, parameters.offset, with_names) for one in self.policies]
        for loaded, plan in zip(self.policies, plans, strict=True):
            # A recording's samples have a time each, so there is no row of one time to judge; rescraping makes them.
            if with_names or not header.is_recording:
                rules.update(carry_rules(loaded.rules, plan))
            self.notes += plan.notes
        longest = max(one.plan.lookback + one.plan.offset + one.plan.every for one in plans)
        if any(isinstance(fault, AdapterRestart) for fault in self._faults.all):
            longest += max(one.plan.memory_ticks * one.plan.every for one in plans)
        self._carrier = Carrier(self.trace, self._zero, longest, parameters.mode, rules, self._pods, self.uncarried)
        self.notes += self._carrier.notes
        self._scrapes = PodScrapes(
            self._pods, self.chosen.scrape, parameters.scrape_phase, self._start, longest, with_names
        )
        self._plans = plans
        return [
            PolicySource(loaded, plan, self._faults, self._zero, parameters.evaluation_phase)
            for loaded, plan in zip(self.policies, plans, strict=True)
        ]

    def _source_of(self, metric: Metric) -> Source | None:
        found = next((one for one in self._sources if one.metric.lower() == metric.name.lower()), None)
        if found is None:
            self.notes.append(f"{metric.name} is published by no policy here: it fails at every sync")
        return found

    @property
    def absent(self) -> tuple[str, ...]:
        """Inputs that the trace does not have, so that what the policy would have done cannot be told."""
        return tuple(dict.fromkeys(name for plan in self._plans for name in plan.absent))

    @property
    def untold(self) -> tuple[str, ...]:
        """What the trace cannot tell of this run, in words; complete once it has ended."""
        carried = (f"{one.input}: {one.cause}" for one in self.uncarried.values())
        return (*carried, *(f"the trace has no {name}" for name in self.absent))

    @property
    def foreign(self) -> tuple[str, ...]:
        """Metrics of the HPA that no policy here publishes."""
        return tuple(
            metric.name for metric, source in zip(self.hpa.metrics, self._by_metric, strict=True) if source is None
        )

    @property
    def span(self) -> tuple[float, float]:
        """When the first sync is and after when there is none, on the trace's clock.

        From the first tick that can see the first row to the first that can see the last: with an offset of 18 s and
        ticks every 15 s, rows from 0 s to 90 s make a run from 30 s to 120 s.
        """
        last = max(one.first_tick(self.trace.header.end + self._zero) for one in self._sources)
        return self._first_sync() - self._zero, last + self.parameters.hpa_phase - self._zero

    def expected_syncs(self) -> int:
        """How many syncs there will be."""
        begin, end = self.span
        period = self.parameters.sync + self.parameters.hpa_latency
        return max(0, int((end - begin) // period) + 1)

    def _first_sync(self) -> float:
        first_tick = min(one.first_tick(self._start) for one in self._sources)
        return first_tick + self.parameters.hpa_phase + self.parameters.hpa_latency

    def steps(self) -> Iterator[SyncStep]:
        """Run it."""
        parameters, zero = self.parameters, self._zero
        end = self.span[1] + zero
        period = parameters.sync + parameters.hpa_latency
        first = self._first_sync()
        next_ticks = [one.first_tick(self._start) for one in self._sources]
        state, last, index = State(), min(next_ticks) - 1.0, 0
        sync = first
        while sync <= end:
            for number, source in enumerate(self._sources):
                while next_ticks[number] <= sync:
                    t = next_ticks[number]
                    state = self._instants(last, t, state)
                    last = max(last, t)
                    self._advance(t)
                    source.tick(t, self._ask, self._replica_answers)
                    next_ticks[number] = t + source.every
            state = self._instants(last, sync, state)
            last = max(last, sync)
            self._advance(sync)
            state, step = self._sync(sync, state)
            yield step
            index += 1
            sync = first + index * period

    def _instants(self, after: float, until: float, state: State) -> State:
        """Restarts of the controller and edits of the scale in between; the pods that a fault makes unready."""
        if not self._faults.all:
            return state
        zero = self._zero
        for fault in self._faults.due(after - zero, until - zero):
            self._advance(fault.at + zero)
            if isinstance(fault, ControllerRestart):
                state = restarted(state)
            else:
                self._pods.scale(fault.replicas, fault.at + zero)
        self._pods.unready = self._faults.unready(until - zero)
        return state

    def _advance(self, now: float) -> None:
        if self._carrier is not None:
            self._scrapes.advance(now)
            self._carrier.advance(now)

    def _ask(self, name: str, instant: float, lookback: float) -> Answer:
        if self._carrier is None:
            return Answer()
        if name.startswith("guard: ") and not self._carrier.has(name):
            return Answer((Series((), (Sample(0.0, instant),)),))  # nothing of the kind has ever happened
        return self._carrier.answer(name, instant, lookback)

    def _replica_answers(self, instant: float, lookback: float) -> Mapping[str, Answer]:
        answers = dict(self._scrapes.answers(instant, lookback))
        recorded = self._carrier.recorded_ready(instant) if self._carrier is not None else None
        if recorded is not None:
            answers["sim ready"] = recorded
        if not self._group:
            return answers
        return {query: _labelled(answer, self._group) for query, answer in answers.items()}

    def _sync(self, now: float, state: State) -> tuple[State, SyncStep]:
        own = now - self._zero
        pods = self._pods
        before, ready = pods.replicas, pods.ready(now)
        readings: list[tuple[int, ...] | None] = []
        metrics: list[MetricStep] = []
        for metric, source in zip(self.hpa.metrics, self._by_metric, strict=True):
            if source is None:
                readings.append(None)
                metrics.append(MetricStep(metric.name, None, "not-found", "no policy here publishes it"))
                continue
            reading, seen = source.answer(metric, now)
            readings.append(reading)
            metrics.append(seen)
        get_fails, update_fails = self._faults.scale_fails(own) if self._faults.all else (False, False)
        observation = Observation(before, before, ready, tuple(readings), before - ready, get_fails, update_fails)
        account = Account()
        decision = reconcile(self._autoscaler, state, observation, round(own * NANOSECONDS_PER_SECOND), account)
        created = pods.scale(decision.replicas, now) if decision.is_rescaled else 0
        status: Status = decision.state.status
        step = SyncStep(own, tuple(metrics), before, decision.replicas, ready, account, status, created)
        return decision.state, step

    @property
    def autoscaler(self) -> Autoscaler:
        """The HPA as the controller works with it."""
        return self._autoscaler


def _labelled(answer: Answer, group: Labels) -> Answer:
    """The simulated replicas are those of the one group whose metric the HPA asks for."""
    return Answer(tuple(Series(labels_of(dict((*one.labels, *group))), one.samples) for one in answer.series))


def _group_of(hpa: Spec, policies: Sequence[LoadedPolicy]) -> Labels:
    """The labels of the group that the HPA selects, as they stand on series; none where it selects no single group."""
    declared = {label: values for one in policies for label, values in one.policy.spec.by.items()}
    found: dict[str, str] = {}
    for metric in hpa.metrics:
        for one in metric.selector:
            if one.key in declared and len(one.values) == 1 and one.operator == "In":
                value = one.values[0]
                found[one.key] = next((raw for raw in declared[one.key] if alias(raw) == value), value)
    return labels_of(found)


def _recorded_replicas(trace: Trace) -> int | None:
    """The first spec.replicas that the trace has."""
    for sample in trace.samples():
        if sample.input == REPLICAS:
            return round(sample.value)
    return None
