"""One policy in a run: its ticks on the grid, what it publishes, and what a GET of its metric would answer.

Does what the poller and the board do in production, with the trace in place of Prometheus and the time as an argument.
Times are on the samples' clock.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from adapter.core.evaluation import evaluate
from adapter.core.policy_reading import LoadedPolicy
from adapter.core.quantity import MAX_VALUE
from adapter.core.reasons import Reason
from adapter.core.samples import Answer
from adapter.core.signals import GroupSignal, NoSignal, Signal
from adapter.core.tick_memory import TickMemory
from adapter.core.ticks import read_tick
from sim.faults import SLOW_BUDGET_SECONDS, Faults
from sim.hpa import quantities
from sim.hpa.spec import Metric
from sim.replay.playback import SAME_INSTANT_SECONDS, TracePlan
from sim.replay.steps import MetricStep

Ask = Callable[[str, float, float], Answer]
"""The trace's name, the instant and how far to look back → the answer."""

AskReplicas = Callable[[float, float], Mapping[str, Answer]]


@dataclass(frozen=True, slots=True)
class Published:
    """What is served from `at` on: the signals of the tick at `t`."""

    at: float
    t: float
    groups: tuple[GroupSignal, ...]


@lru_cache(maxsize=4096)
def milli_on_the_wire(text: str) -> int:
    """What the controller makes of a quantity's text; the same text is the same number."""
    return quantities.milli_value(quantities.parse(text))


class PolicySource:
    """The ticks of one policy's memory, and what of them is served."""

    def __init__(self, loaded: LoadedPolicy, plan: TracePlan, faults: Faults, zero: float, phase: float) -> None:
        self.loaded, self.plan = loaded, plan.plan
        self.every = plan.plan.every
        self.metric = loaded.policy.spec.publish.metric
        self._trace_plan, self._faults, self._zero, self._phase = plan, faults, zero, phase
        self._budget = min(SLOW_BUDGET_SECONDS, plan.plan.every)
        self._ticks = TickMemory(plan.plan.memory_ticks)
        self._served: Published | None = None
        self._coming: deque[Published] = deque()

    def first_tick(self, start: float) -> float:
        """The first tick at which something that was sampled at the start can be seen."""
        every = self.plan.every
        return -((self._phase - start - self.plan.offset) // every) * every + self._phase

    def tick(self, t: float, ask: Ask, replicas: AskReplicas) -> None:
        """Evaluate at a tick; nothing happens while the adapter is down."""
        own_t = t - self._zero
        if self._faults.is_adapter_down(own_t):
            self._ticks.clear()
            self._coming.clear()
            self._served = None
            return
        if self._faults.adapter_restarted(own_t - self.plan.every, own_t):
            self._refill(t, ask, replicas)
        self._ticks.append(read_tick(self.plan, t, self._answers(t, t, ask, replicas)))
        groups = evaluate(self.plan, self.loaded.rules, self._ticks)
        delay = self._faults.delay(own_t, self._budget) if self._faults.answers else 0.0
        published = Published(t + delay, t, groups)
        if delay or self._coming:
            self._coming.append(published)
        else:
            self._served = published

    def _answers(self, t: float, asked_at: float, ask: Ask, replicas: AskReplicas) -> Mapping[str, Answer]:
        """The answers about tick t, asked for at `asked_at`, which is later only where the memory is fetched again."""
        instant, lookback = t - self.plan.offset, self.plan.lookback
        derived = self._trace_plan.instants
        answers = {
            query: ask(name, instant, SAME_INSTANT_SECONDS if name in derived else lookback)
            for query, name in self._trace_plan.queries.items()
        }
        if self.plan.replicas is not None:
            answers.update(replicas(instant, lookback))
        if self._faults.answers:
            own = asked_at - self._zero
            for query in answers:
                name = self._trace_plan.queries.get(query, query)
                owner = self._trace_plan.owners.get(name, name)
                answers[query] = self._faults.alter(owner, own, answers[query], self._zero, self._budget)
        return answers

    def _refill(self, t: float, ask: Ask, replicas: AskReplicas) -> None:
        """Fetch the memory anew, as an adapter does that has just started; what fails is left out."""
        self._ticks.clear()
        every = self.plan.every
        for back in range(self.plan.memory_ticks - 1, 0, -1):
            answers = self._answers(t - back * every, t, ask, replicas)
            if any(answer.failure is not None for answer in answers.values()):
                self._ticks.clear()
                return
            self._ticks.append(read_tick(self.plan, t - back * every, answers))

    def answer(self, metric: Metric, now: float) -> tuple[tuple[int, ...] | None, MetricStep]:
        """What the controller reads of a metric of its spec: the items in milli-units, and the account."""
        own = now - self._zero
        if self._faults.adapter_restarts and self._faults.is_adapter_down(own):
            return None, MetricStep(metric.name, None, "adapter-down", "fault: the adapter does not answer")
        while self._coming and self._coming[0].at <= now:
            self._served = self._coming.popleft()
        served = self._served
        if served is None:
            return None, MetricStep(metric.name, None, Reason.STARTING, "no evaluation yet")
        return read_metric(self.loaded, metric, served.groups, served.t - self._zero)


def read_metric(
    loaded: LoadedPolicy, metric: Metric, groups: tuple[GroupSignal, ...], tick: float
) -> tuple[tuple[int, ...] | None, MetricStep]:
    """The items that the controller reads, or the one error that stands for all, by the rules of the board."""
    name = metric.name
    if metric.selector:
        groups = tuple(one for one in groups if metric.selects(one.labels))
    if not groups:
        message = "no group of the policy matches the selector"
        return None, MetricStep(name, None, "not-found", message, tick)
    if len(groups) > 1 and not loaded.policy.spec.publish.sum:
        message = f"the selector matches {len(groups)} groups, and publish.sum is not set"
        return None, MetricStep(name, None, "several-groups", message, tick)
    texts: list[str] = []
    signal: Signal | None = None
    total = 0
    for group in groups:
        outcome = group.outcome
        if isinstance(outcome, NoSignal):
            missing = outcome.missing
            return None, MetricStep(name, None, missing.reason, missing.message, tick, outcome)
        texts.append(outcome.text)
        total += outcome.value_milli
        signal = outcome
    if total > MAX_VALUE * 1000:
        return None, MetricStep(name, None, Reason.TOO_LARGE, f"the items add up to more than {MAX_VALUE}", tick)
    text = texts[0] if len(texts) == 1 else "+".join(texts)
    return tuple(map(milli_on_the_wire, texts)), MetricStep(name, text, None, "", tick, signal)
