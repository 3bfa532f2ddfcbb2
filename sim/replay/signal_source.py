"""Mode signal: what a policy published, played as it was; nothing is evaluated.

A value is served from its row until the next, at most 1.5 steps of the trace: a row that is missing is no value.
"""

from math import isfinite

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.quantity import MAX_VALUE, milli_of_replicas, milli_of_value, write_milli
from adapter.core.reasons import Reason
from sim.faults import AnswerKind, Faults
from sim.hpa.spec import Metric
from sim.replay.parameters import ReplayError
from sim.replay.playback import Played
from sim.replay.policy_source import milli_on_the_wire
from sim.replay.steps import MetricStep
from sim.traces.trace import HOLE_STEPS, SIGNAL, Trace

_FAULTS = {
    AnswerKind.OUTAGE: (Reason.UPSTREAM_ERROR, "fault: the source is down"),
    AnswerKind.EMPTY: (Reason.EMPTY, "fault: no series matches"),
    AnswerKind.NAN: (Reason.NOT_A_NUMBER, "fault: the sample is not a number"),
    AnswerKind.STALE: (Reason.STALE, "fault: nothing was scraped"),
    AnswerKind.SLOW: (Reason.UPSTREAM_TIMEOUT, "fault: the source did not answer in time"),
}


class SignalSource:
    """The recorded signal as what a GET of the policy's metric answers."""

    def __init__(self, loaded: LoadedPolicy, trace: Trace, zero: float, faults: Faults) -> None:
        header = trace.header
        if SIGNAL not in header.inputs:
            raise ReplayError(f'mode signal plays the column "{SIGNAL}"; the trace has {", ".join(header.inputs)}')
        self.metric = loaded.policy.spec.publish.metric
        self.every = loaded.plan.every
        self.notes = (
            f"the signal is played as it was published; the policy {loaded.policy.metadata.name} is not evaluated",
        )
        self._is_replicas = loaded.policy.spec.publish.as_ == "replicas"
        self._life = HOLE_STEPS * (header.step or self.every)
        self._played = Played(trace, zero, self._life)
        self._zero, self._faults = zero, faults

    def first_tick(self, start: float) -> float:
        """The start."""
        return start

    def tick(self, t: float, *_: object) -> None:
        """Nothing is evaluated."""

    def answer(self, metric: Metric, now: float) -> tuple[tuple[int, ...] | None, MetricStep]:
        """The newest value that still counts, rounded and refused as when it is published."""
        self._played.advance(now)
        newest = self._played.newest(SIGNAL, now)
        own = now - self._zero
        name = metric.name
        if self._faults.is_adapter_down(own):
            return None, MetricStep(name, None, "adapter-down", "fault: the adapter does not answer")
        value = None if newest is None else newest.value
        for fault in self._faults.answers:
            if not fault.befalls(SIGNAL, own):
                continue
            if fault.kind in _FAULTS:
                reason, message = _FAULTS[fault.kind]
                return None, MetricStep(name, None, reason, message)
            value = 0.0
        if newest is None or value is None or now - newest.time > self._life:
            return None, MetricStep(name, None, Reason.EMPTY, f"no row of the last {self._life:g} s has a value")
        tick = newest.time - self._zero
        if not isfinite(value):
            reason = Reason.INFINITE if value in (float("inf"), float("-inf")) else Reason.NOT_A_NUMBER
            return None, MetricStep(name, None, reason, f"the signal is {value:g}", tick)
        if value < 0 or value > MAX_VALUE:
            reason = Reason.NEGATIVE if value < 0 else Reason.TOO_LARGE
            return None, MetricStep(name, None, reason, f"the signal is {value:g}", tick)
        text = write_milli(milli_of_replicas(value) if self._is_replicas else milli_of_value(value))
        return (milli_on_the_wire(text),), MetricStep(name, text, None, "", tick)
