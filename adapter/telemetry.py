"""The adapter's own metrics and its log of changes.

Counts what happens and logs a line when a policy's state changes, not at every tick. The names are an interface.
"""

from collections.abc import Sequence

import structlog
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

from adapter import clock
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.samples import Labels, labels_of
from adapter.core.signals import GroupSignal, NoSignal, Signal

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_log = structlog.get_logger("scaleproof.signals")

_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10)


class Telemetry:
    """All metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # twice the series and nothing that anybody asks for
        self.registry = CollectorRegistry()
        policy = ["namespace", "policy"]
        self._value = Gauge("scaleproof_signal_value", "Value served, by policy.", policy, registry=self.registry)
        self._age = Gauge(
            "scaleproof_signal_age_seconds",
            "Age of the oldest sample behind the value.",
            policy,
            registry=self.registry,
        )
        self._no_signal = Counter(
            "scaleproof_no_signal", "Evaluations without a signal.", [*policy, "reason"], registry=self.registry
        )
        self._bad_samples = Counter(
            "scaleproof_bad_inputs",
            "Readings of inputs that were not used.",
            [*policy, "input", "reason"],
            registry=self.registry,
        )
        self._evaluation = Histogram(
            "scaleproof_evaluation_seconds",
            "From a tick's time to its signal.",
            buckets=_SECONDS,
            registry=self.registry,
        )
        self._failures = Counter(
            "scaleproof_evaluation_failures",
            "Evaluations that ended in a fault of ours.",
            policy,
            registry=self.registry,
        )
        self._queries = Counter("scaleproof_queries", "Queries by outcome.", ["outcome"], registry=self.registry)
        self._requests = Counter("scaleproof_requests", "Requests answered, by code.", ["code"], registry=self.registry)
        self._requests_by_code: dict[int, Counter] = {}
        self._policy_errors = Counter(
            "scaleproof_policy_reload_errors", "Policy files found broken.", registry=self.registry
        )
        self._tls_errors = Counter(
            "scaleproof_tls_reload_errors", "Serving pairs on disk that could not be used.", registry=self.registry
        )
        self._certificate = Gauge(
            "scaleproof_certificate_expiry_seconds",
            "When the serving certificate runs out, as seconds since the epoch.",
            registry=self.registry,
        )
        self._at_ceiling = Gauge(
            "scaleproof_signal_at_ceiling",
            "1 while more is asked for than the ceiling allows.",
            policy,
            registry=self.registry,
        )
        self._diagnosis = Gauge(
            "scaleproof_diagnosis",
            "1 for what limits the workload now; the label replicas_help says whether more replicas would help.",
            [*policy, "diagnosis", "replicas_help"],
            registry=self.registry,
        )
        self._policies = Gauge("scaleproof_policies", "Policies in force.", registry=self.registry)
        self._diagnosed: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._as_of: dict[tuple[str, str], float] = {}
        self._states: dict[tuple[str, str], dict[Labels, str]] = {}

    def evaluated(self, loaded: LoadedPolicy, t: float, groups: Sequence[GroupSignal], seconds: float) -> None:
        """Count an evaluation; a group of several is shown by its largest value."""
        namespace, policy = loaded.policy.key
        self._evaluation.observe(seconds)
        signals = [group.outcome for group in groups if isinstance(group.outcome, Signal)]
        if signals:
            self._value.labels(namespace, policy).set(max(signal.value_milli for signal in signals) / 1000)
            self._at_ceiling.labels(namespace, policy).set(any(signal.is_at_ceiling for signal in signals))
            self._as_of[loaded.policy.key] = min(signal.as_of for signal in signals)
        else:
            self.forget_value(loaded.policy.key)
        self._diagnose(loaded.policy.key, groups)
        # The states are made anew, so that groups that are gone take no room.
        before, states = self._states.get(loaded.policy.key, {}), {}
        for group in groups:
            outcome = group.outcome
            if isinstance(outcome, NoSignal):
                self._no_signal.labels(namespace, policy, outcome.missing.reason).inc()
            for one in outcome.why.inputs if outcome.why is not None else ():
                if one.reason is not None:
                    self._bad_samples.labels(namespace, policy, one.name, one.reason).inc()
            labels = labels_of(group.labels)
            states[labels] = outcome.missing.reason if isinstance(outcome, NoSignal) else "signal"
            if before.get(labels) != states[labels]:
                self._log_change(loaded, t, group)
        self._states[loaded.policy.key] = states

    def withdrawn(self, key: tuple[str, str]) -> None:
        """Forget a policy that is no longer in force."""
        self.forget_value(key)
        self._states.pop(key, None)
        for gone in self._diagnosed.pop(key, set()):
            self._diagnosis.remove(*key, *gone)

    def _diagnose(self, key: tuple[str, str], groups: Sequence[GroupSignal]) -> None:
        """Show the diagnoses of a policy's groups, and no longer those of before."""
        whys = [group.outcome.why for group in groups if group.outcome.why is not None]
        found = [why.diagnosis for why in whys if why.diagnosis is not None]
        now = {(diagnosis.name, str(diagnosis.replicas_help).lower()) for diagnosis in found}
        for gone in self._diagnosed.get(key, set()) - now:
            self._diagnosis.remove(*key, *gone)
        for name, helps in now:
            self._diagnosis.labels(*key, name, helps).set(1)
        self._diagnosed[key] = now

    def forget_value(self, key: tuple[str, str]) -> None:
        """Show no value for a policy that has none, rather than its last."""
        if self._as_of.pop(key, None) is not None:
            self._value.remove(*key)
            self._at_ceiling.remove(*key)
            self._age.remove(*key)

    def _log_change(self, loaded: LoadedPolicy, t: float, group: GroupSignal) -> None:
        """One line when a signal comes, goes or goes for another reason."""
        namespace, policy = loaded.policy.key
        outcome = group.outcome
        about = {
            "policy": f"{namespace}/{policy}",
            "t": t,
            **{f"label_{name}": value for name, value in group.labels.items()},
        }
        if isinstance(outcome, NoSignal):
            _log.warning("no-signal", reason=outcome.missing.reason, message=outcome.missing.message, **about)
        else:
            _log.info("signal", value=outcome.text, decided_by=outcome.why.decided_by, **about)

    def evaluation_failed(self, key: tuple[str, str]) -> None:
        """Count a fault of ours."""
        self._failures.labels(*key).inc()

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

    def certificate_in_force(self, expiry: float) -> None:
        """Tell when the serving certificate runs out (epoch seconds)."""
        self._certificate.set(expiry)

    def policies_in_force(self, count: int) -> None:
        """Set how many policies are evaluated."""
        self._policies.set(count)

    def exposition(self) -> bytes:
        """All metrics in the text format."""
        for key, as_of in self._as_of.items():
            self._age.labels(*key).set(clock.now() - as_of)
        return generate_latest(self.registry)
