"""Bench "replay": a ServeGen fortnight at 15 s (80,640 syncs) through a policy of three terms and its HPA.

What is measured is a whole run, evaluation, wire text, account and scores included, in CPU time of one core. A day of
it is run first, for the memory of a run that is 14 times as short. The floor is the loop over the trace alone.
`seconds` bounds nothing here: the run is as long as it is.
"""

from sim.measurements import Measurement, cpu_seconds, rss_mib
from sim.policy_files import policies_of
from sim.replay.default_hpa import default_hpa
from sim.replay.findings import Watch
from sim.replay.parameters import Parameters
from sim.replay.runner import Run
from sim.scores import Scorer
from sim.traces.servegen import ServeGenTrace

POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: fleet, namespace: inference}
spec:
  every: 15s
  replicas: {preset: kube/deployment-replicas, match: {deployment: fleet}}
  inputs:
    arrivals: {preset: vllm/request-arrivals, match: {model_name: fleet}}
    in_flight: {preset: vllm/requests-in-flight, match: {model_name: fleet}}
    kv: {query: kv_tokens_in_use, unit: count, reduce: sum}
  capacity: {rate_per_replica: 12/s, cold_start: 120s}
  terms:
    load: {throughput: arrivals, share: 80%}
    batch: {concurrency: in_flight, per_replica: 64}
    cache: {headroom: kv, capacity: 400000, keep_free: {up: 140000, down: 180000}}
  publish: {metric: fleet-replicas, ceiling: 64}
"""


def measure(seconds: float) -> list[Measurement]:
    """The run, a shorter one, and the floor."""
    del seconds
    day, day_rss = _run(1.0)
    fortnight, rss = _run(14.0)
    return [
        Measurement("replay", "syncs, 14 days", fortnight, rss),
        Measurement("day", "syncs, 1 day", day, day_rss),
        Measurement("floor", "floor: the trace alone", _floor()),
    ]


def _run(days: float) -> tuple[float, float]:
    """(syncs per CPU second, MiB) of a run over so many days."""
    (loaded,) = policies_of(POLICY, "bench")
    hpa, _ = default_hpa(loaded)
    begin = cpu_seconds()
    run = Run((loaded,), ServeGenTrace(days), hpa, Parameters())
    scorer, watch = Scorer(15.0, hpa.maximum, 1.0), Watch(hpa)
    for step in run.steps():
        scorer.add(step)
        watch.add(step)
    scorer.scores()
    return watch.syncs / (cpu_seconds() - begin), rss_mib()


def _floor() -> float:
    begin = cpu_seconds()
    count = sum(1 for _ in ServeGenTrace(14.0).samples())
    return count / 3 / (cpu_seconds() - begin)
