"""What the adapter counts: its own metrics, of which `metric_catalogue` tells the meaning.

Signals are kept as plain numbers and turned into series when somebody asks, so that a tick of a thousand policies costs
little. A policy that is withdrawn leaves nothing behind.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from adapter import clock
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.policy_values import reasons_of, value_milli_of
from adapter.core.signals import GroupSignal, NoSignal, Signal
from adapter.metric_catalogue import BY_NAME
from adapter.signal_log import SignalLog

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10)

Key = tuple[str, str]


@dataclass(slots=True)
class _Shown:
    """What is shown of one policy: its tick, its value or why it has none, its diagnoses, and which counters it has."""

    t: float | None = None
    value: float | None = None
    reasons: tuple[str, ...] = ()
    as_of: float = 0.0
    is_at_ceiling: bool = False
    diagnoses: frozenset[tuple[str, str]] = frozenset()
    counted: set[tuple[str, ...]] = field(default_factory=set)


class Telemetry:
    """All metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # twice the series and nothing that anybody asks for
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.log = SignalLog()
        self._shown: dict[Key, _Shown] = {}
        self.registry.register(_SignalCollector(self._shown))
        self._no_signal = self._counter("scaleproof_no_signal_total")
        self._bad_inputs = self._counter("scaleproof_bad_inputs_total")
        self._evaluation = self._histogram("scaleproof_evaluation_seconds")
        self._failures = self._counter("scaleproof_evaluation_failures_total")
        self._queries = self._counter("scaleproof_queries_total")
        self._requests = self._counter("scaleproof_requests_total")
        self._requests_by_code: dict[int, Counter] = {}
        self._policies = self._gauge("scaleproof_policies")
        self._broken_files = self._gauge("scaleproof_policy_files_broken")
        self._policy_errors = self._counter("scaleproof_policy_reload_errors_total")
        self._reload = self._histogram("scaleproof_policy_reload_seconds")
        self._tls_errors = self._counter("scaleproof_tls_reload_errors_total")
        self._certificate = self._gauge("scaleproof_certificate_expiry_seconds")
        self._suppressed = self._counter("scaleproof_log_lines_suppressed_total")
        self._status_writes = self._counter("scaleproof_status_writes_total")

    def _counter(self, name: str) -> Counter:
        return Counter(name, BY_NAME[name].about, BY_NAME[name].labels, registry=self.registry)

    def _gauge(self, name: str) -> Gauge:
        return Gauge(name, BY_NAME[name].about, BY_NAME[name].labels, registry=self.registry)

    def _histogram(self, name: str) -> Histogram:
        about = BY_NAME[name]
        return Histogram(name, about.about, about.labels, buckets=_SECONDS, registry=self.registry)

    def evaluated(self, loaded: LoadedPolicy, t: float, groups: Sequence[GroupSignal], seconds: float) -> None:
        """Count an evaluation; a group of several is shown by its largest value."""
        self._evaluation.observe(seconds)
        shown = self._shown.setdefault(loaded.policy.key, _Shown())
        signals = [group.outcome for group in groups if isinstance(group.outcome, Signal)]
        milli = value_milli_of(groups)
        shown.t, shown.value, shown.reasons = t, None if milli is None else milli / 1000, reasons_of(groups)
        shown.as_of = min((signal.as_of for signal in signals), default=0.0)
        shown.is_at_ceiling = any(signal.is_at_ceiling for signal in signals)
        whys = [group.outcome.why for group in groups if group.outcome.why is not None]
        shown.diagnoses = frozenset(
            (why.diagnosis.name, str(why.diagnosis.replicas_help).lower()) for why in whys if why.diagnosis is not None
        )
        for group in groups:
            if isinstance(group.outcome, NoSignal):
                self._count(self._no_signal, shown, *loaded.policy.key, group.outcome.missing.reason)
            for one in group.outcome.why.inputs if group.outcome.why is not None else ():
                if one.reason is not None:
                    self._count(self._bad_inputs, shown, *loaded.policy.key, one.name, one.reason)
        self.log.evaluated(loaded.policy.key, t, groups, seconds)

    def _count(self, counter: Counter, shown: _Shown, *labels: str) -> None:
        shown.counted.add(labels)
        counter.labels(*labels).inc()

    def withdrawn(self, key: Key) -> None:
        """Forget a policy that is no longer in force."""
        self.log.withdrawn(key)
        shown = self._shown.pop(key, None)
        for labels in shown.counted if shown is not None else ():
            counter = {2: self._failures, 3: self._no_signal, 4: self._bad_inputs}[len(labels)]
            counter.remove(*labels)

    def evaluation_failed(self, key: Key) -> None:
        """Count a fault of ours."""
        self._count(self._failures, self._shown.setdefault(key, _Shown()), *key)

    def queried(self, outcome: str) -> None:
        """Count a query's outcome: success or the reason why not."""
        self._queries.labels(outcome).inc()

    def requested(self, code: int) -> None:
        """Count an answer of the API."""
        counter = self._requests_by_code.get(code)
        if counter is None:
            counter = self._requests_by_code[code] = self._requests.labels(str(code))
        counter.inc()

    def policy_file_broken(self) -> None:
        """Count a broken policy file."""
        self._policy_errors.inc()

    def tls_pair_broken(self) -> None:
        """Count a serving pair that could not be used."""
        self._tls_errors.inc()

    def status_written(self, outcome: str) -> None:
        """Count a write of the status of a ScalingPolicy: written or failed."""
        self._status_writes.labels(outcome).inc()

    def certificate_in_force(self, expiry: float) -> None:
        """Tell when the serving certificate runs out (epoch seconds)."""
        self._certificate.set(expiry)

    def policies_in_force(self, count: int) -> None:
        """Set how many policies are evaluated."""
        self._policies.set(count)

    def policy_files_broken(self, count: int) -> None:
        """Set how many policy files are broken now."""
        self._broken_files.set(count)

    def reloaded(self, seconds: float) -> None:
        """Count a change of the policies and how long it took to be in force."""
        self._reload.observe(seconds)

    def log_line_suppressed(self) -> None:
        """Count a line that was left out of the log."""
        self._suppressed.inc()

    def exposition(self) -> bytes:
        """All metrics in the text format."""
        return generate_latest(self.registry)


class _SignalCollector(Collector):
    """The gauges of all policies, made when they are asked for."""

    def __init__(self, shown: dict[Key, _Shown]) -> None:
        self._shown = shown

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """The names, so that nothing else takes them."""
        return self._families().values()

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The series of now."""
        families = self._families()
        now = clock.now()
        for key, one in self._shown.items():
            if one.t is not None:
                families["scaleproof_signal_tick_seconds"].add_metric(key, one.t)
            for reason in one.reasons:
                families["scaleproof_signal_missing"].add_metric((*key, reason), 1)
            for diagnosis in sorted(one.diagnoses):
                families["scaleproof_diagnosis"].add_metric((*key, *diagnosis), 1)
            if one.value is not None:  # rather none than its last
                families["scaleproof_signal_value"].add_metric(key, one.value)
                families["scaleproof_signal_age_seconds"].add_metric(key, now - one.as_of)
                families["scaleproof_signal_at_ceiling"].add_metric(key, one.is_at_ceiling)
        yield from families.values()

    def _families(self) -> dict[str, GaugeMetricFamily]:
        names = ("signal_value", "signal_age_seconds", "signal_at_ceiling", "signal_tick_seconds", "signal_missing")
        found = [BY_NAME[f"scaleproof_{name}"] for name in (*names, "diagnosis")]
        return {one.name: GaugeMetricFamily(one.name, one.about, labels=one.labels) for one in found}
