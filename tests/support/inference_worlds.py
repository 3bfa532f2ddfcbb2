"""What exporters tell of a small inference workload over a minute, as series for tests of policies.

All values are in the exporters' own units. Knows no policy.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from policy_world import many

from adapter.core.samples import Series

NAMESPACE = "inference"
SCRAPES_APART = 60.0


@dataclass(frozen=True)
class World:
    """The series of one instant, made a metric at a time."""

    at: float
    series: tuple[Series, ...] = ()

    def gauge(self, metric: str, value: float, pods: Iterable[str] = ("",), **labels: str) -> "World":
        """The same value for each pod, now and a minute ago; "" is a series that belongs to no pod."""
        values = [(SCRAPES_APART, value), (0.0, value)]
        made = [many(metric, values, at=self.at, **_labels(pod, labels)) for pod in pods]
        return World(self.at, (*self.series, *made))

    def counter(self, metric: str, growth: float, pods: Iterable[str] = ("",), **labels: str) -> "World":
        """A counter of each pod that grew by so much in the last minute."""
        values = [(SCRAPES_APART, 1000.0), (0.0, 1000.0 + growth)]
        made = [many(metric, values, at=self.at, **_labels(pod, labels)) for pod in pods]
        return World(self.at, (*self.series, *made))

    def histogram(
        self, metric: str, cumulative: Mapping[str, float], pods: Iterable[str] = ("",), **labels: str
    ) -> "World":
        """Buckets of each pod by their bound, in which so many requests of the last minute lie."""
        grown = self
        members = tuple(pods)
        for bound, count in cumulative.items():
            grown = grown.counter(f"{metric}_bucket", count, members, **labels, le=bound)
        return grown

    def replicas(self, kind: str, name: str, pods: tuple[str, ...], n: int | None = None) -> "World":
        """What kube-state-metrics says of a Deployment or a StatefulSet whose pods are all ready."""
        spec = {"deployment": "kube_deployment_spec_replicas", "statefulset": "kube_statefulset_replicas"}[kind]
        wanted = float(len(pods) if n is None else n)
        return (
            self.gauge(spec, wanted, **{kind: name})
            .gauge(f"kube_{kind}_status_replicas_ready", float(len(pods)), **{kind: name})
            .gauge("kube_pod_status_ready", 1, pods, condition="true")
            .counter("kube_pod_container_status_restarts_total", 0, pods, container="server")
        )


def _labels(pod: str, labels: Mapping[str, str]) -> dict[str, str]:
    named = {"namespace": NAMESPACE, **labels}
    return {**named, "pod": pod} if pod else named


def pods_of(deployment: str, count: int) -> tuple[str, ...]:
    """Names as a Deployment gives them."""
    return tuple(f"{deployment}-7c9f-{letter}" for letter in "abcdefgh"[:count])
