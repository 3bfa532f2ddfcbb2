"""Scores of a metric-level run: what it cost, what it lacked, and how restless it was.

Each sync counts for the time until the next. Supply is the ready pods; demand is the replicas that the policy's U asks
for, whole ones. Accuracy and time share are those of SPEC RG (N. Herbst et al., "Ready for Rain? A View from SPEC
Research on the Future of Cloud Metrics", SPEC-RG-2016-01): θ is the mean of what lacks or is too much relative to the
demand, τ the share of the time in which that is so. Memory does not grow with the run.
"""

from collections import Counter
from dataclasses import asdict, dataclass
from math import ceil

from sim.replay.steps import SyncStep

FLAP_WINDOW_SECONDS = 600.0
"""Two rescales in opposite directions within this are a flap: twice the usual window downwards."""

MAX_OPEN_STEPS = 10_000


@dataclass(frozen=True, slots=True)
class Provisioning:
    """θ and τ in percent; None where the demand was never known."""

    theta_under: float | None
    theta_over: float | None
    tau_under: float | None
    tau_over: float | None


@dataclass(frozen=True, slots=True)
class Baseline:
    """A fixed number of replicas over the same time."""

    replicas: int
    replica_hours: float
    gpu_hours: float
    provisioning: Provisioning


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of a run; times in seconds, shares in percent."""

    syncs: int
    seconds: float
    replica_hours: float
    gpu_hours: float
    pod_starts: int
    rescales: int
    flaps: int
    most_replicas: int
    highest_demand: int | None
    longest_under_demand_seconds: float
    steps_reached: int
    steps_gone: int
    """Steps of the demand that were over before they were reached."""
    seconds_to_reach_p50: float | None
    seconds_to_reach_p95: float | None
    provisioning: Provisioning
    syncs_without_metric: int
    seconds_at_ceiling: float
    fixed_at_peak: Baseline | None
    fixed_at_mean: Baseline | None

    def as_data(self) -> dict[str, object]:
        """Plain data for JSON, rounded to what is meant."""
        return {key: _rounded(value) for key, value in asdict(self).items()}

    def numbers(self) -> dict[str, float]:
        """The scores that could be measured, flat, as thresholds speak of them."""
        found = self.as_data()
        inner = found.pop("provisioning")
        flat = {**found, **(inner if isinstance(inner, dict) else {})}
        return {name: float(value) for name, value in flat.items() if isinstance(value, int | float)}


def _rounded(value: object) -> object:
    if isinstance(value, dict):
        return {key: _rounded(one) for key, one in value.items()}
    return round(value, 4) if isinstance(value, float) else value


def demand_of(step: SyncStep) -> int | None:
    """The replicas that the policies ask for at a sync, N and floor and ceiling aside; None where that is unknown.

    A demand of 3.0004 is 3: U counts in thousandths of a replica, as it is published.
    """
    highest: int | None = None
    for metric in step.metrics:
        if metric.text is None:
            return None
        why = metric.outcome.why if metric.outcome is not None else None
        up = why.up if why is not None else None
        if up is None:
            up = float(step.account.proposal or 0)
        wanted = ceil(round(up, 3))
        highest = wanted if highest is None or wanted > highest else highest
    return highest


class Scorer:
    """Adds up a run, sync by sync."""

    def __init__(self, period: float, ceiling: int, gpus_per_replica: float, flap_window: float = FLAP_WINDOW_SECONDS):
        self._period, self._ceiling, self._gpus, self._flap_window = period, ceiling, gpus_per_replica, flap_window
        self._syncs = self._pod_starts = self._rescales = self._flaps = self._without = self._most = 0
        self._replica_syncs = self._at_ceiling = 0
        self._spell = self._longest = 0
        self._last_rescale: tuple[float, bool] | None = None
        self._last_demand: int | None = None
        self._open: dict[int, float] = {}
        self._times: Counter[float] = Counter()
        self._gone = 0
        self._demands: Counter[int] = Counter()
        self._theta_under = self._theta_over = 0.0
        self._tau_under = self._tau_over = 0

    def add(self, step: SyncStep) -> None:
        """Count one sync."""
        self._syncs += 1
        self._replica_syncs += step.desired
        self._pod_starts += step.pod_starts
        self._most = max(self._most, step.desired)
        self._at_ceiling += step.desired >= self._ceiling
        self._without += any(metric.text is None for metric in step.metrics)
        if step.is_rescale:
            self._rescale(step)
        demand = demand_of(step)
        if demand is None:
            # What is not known is neither under nor over; a spell under demand goes on.
            self._spell += self._spell > 0
        else:
            self._provision(demand, step.ready)
            self._reach(step.t, demand, step.ready)
        self._longest = max(self._longest, self._spell)

    def _rescale(self, step: SyncStep) -> None:
        self._rescales += 1
        is_up = step.desired > step.replicas
        if self._last_rescale is not None:
            before, was_up = self._last_rescale
            self._flaps += was_up is not is_up and step.t - before <= self._flap_window
        self._last_rescale = (step.t, is_up)

    def _provision(self, demand: int, ready: int) -> None:
        self._demands[demand] += 1
        self._theta_under += max(0, demand - ready) / max(1, demand)
        self._theta_over += max(0, ready - demand) / max(1, demand)
        self._tau_under += ready < demand
        self._tau_over += ready > demand
        self._spell = self._spell + 1 if ready < demand else 0

    def _reach(self, t: float, demand: int, ready: int) -> None:
        """A step is a demand that rises above what there is; it is reached when so many are ready."""
        for level, begun in [one for one in self._open.items() if one[0] <= ready or one[0] > demand]:
            del self._open[level]
            if level <= ready:
                self._times[t - begun] += 1
            else:
                self._gone += 1
        rises = self._last_demand is None or demand > self._last_demand
        if rises and demand > ready and demand not in self._open and len(self._open) < MAX_OPEN_STEPS:
            self._open[demand] = t
        self._last_demand = demand

    def scores(self) -> Scores:
        """The scores of what was added."""
        hours = self._period / 3600.0
        known = sum(self._demands.values())
        peak = max(self._demands, default=None)
        mean = sum(demand * count for demand, count in self._demands.items()) / known if known else None
        return Scores(
            syncs=self._syncs,
            seconds=self._syncs * self._period,
            replica_hours=self._replica_syncs * hours,
            gpu_hours=self._replica_syncs * hours * self._gpus,
            pod_starts=self._pod_starts,
            rescales=self._rescales,
            flaps=self._flaps,
            most_replicas=self._most,
            highest_demand=peak,
            longest_under_demand_seconds=self._longest * self._period,
            steps_reached=sum(self._times.values()),
            steps_gone=self._gone,
            seconds_to_reach_p50=percentile(self._times, 0.5),
            seconds_to_reach_p95=percentile(self._times, 0.95),
            provisioning=_provisioning(known, self._theta_under, self._theta_over, self._tau_under, self._tau_over),
            syncs_without_metric=self._without,
            seconds_at_ceiling=self._at_ceiling * self._period,
            fixed_at_peak=None if peak is None else self._fixed(peak),
            fixed_at_mean=None if mean is None else self._fixed(ceil(round(mean, 6))),
        )

    def _fixed(self, replicas: int) -> Baseline:
        under = over = 0.0
        short = spare = 0
        for demand, count in self._demands.items():
            under += count * max(0, demand - replicas) / max(1, demand)
            over += count * max(0, replicas - demand) / max(1, demand)
            short += count * (replicas < demand)
            spare += count * (replicas > demand)
        hours = replicas * self._syncs * self._period / 3600.0
        known = sum(self._demands.values())
        return Baseline(replicas, hours, hours * self._gpus, _provisioning(known, under, over, short, spare))


def _provisioning(known: int, under: float, over: float, short: int, spare: int) -> Provisioning:
    if not known:
        return Provisioning(None, None, None, None)
    return Provisioning(*(100.0 * value / known for value in (under, over, short, spare)))


def percentile(counts: Counter[float], share: float) -> float | None:
    """By nearest rank: the smallest value that so large a share does not exceed."""
    rank = ceil(share * sum(counts.values()))
    for value in sorted(counts):
        rank -= counts[value]
        if rank <= 0:
            return value
    return None
