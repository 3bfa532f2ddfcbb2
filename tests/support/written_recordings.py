"""Recordings written by hand, in the recorder's own form: a queue each second, and what was served and wanted.

The policy asks for 1 replica per 10 that wait, each second, at the instant of the tick, with a memory of one tick.
"""

import gzip
import hashlib
from collections.abc import Mapping
from pathlib import Path

from policy_world import LIBRARY

from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.recordings import (
    HPA,
    SERVED,
    RecordingHeader,
    channel_line,
    end_line,
    policy_hash,
    queries_of,
    query_lines,
    write_header,
)
from adapter.core.samples import Answer, Sample, Series, labels_of

START = 1_800_000_000

POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: p, namespace: prod}
spec:
  every: 1s
  offset: 0s
  scrape_interval: 1s
  memory: 1s
  inputs:
    waiting: {query: waiting, unit: count, max_age: 1s}
  terms:
    queue: {concurrency: waiting, per_replica: 10}
  publish: {metric: p-replicas, as: replicas}
"""

AUTOSCALER = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: h, namespace: prod}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: d}
  minReplicas: 1
  maxReplicas: 10
  metrics:
  - type: External
    external: {metric: {name: p-replicas}, target: {type: AverageValue, averageValue: "1"}}
  behavior:
    scaleUp: {stabilizationWindowSeconds: 0}
    scaleDown: {stabilizationWindowSeconds: 0}
"""


def write_recording(
    folder: Path,
    waiting: Mapping[int, float],
    served: Mapping[int, str],
    wanted: Mapping[int, int],
    policy: str = POLICY,
) -> Path:
    """A recording of as many seconds as the last key of `waiting` says; times are seconds after its first tick."""
    (folder / "policy.yaml").write_text(policy)
    (folder / "hpa.yaml").write_text(AUTOSCALER)
    (loaded,), _ = read_policies(policy, "policy.yaml", LIBRARY)  # that it is odd, the lints say; it is no error
    lines = query_lines(0, _answer(waiting), None, START + max(waiting))
    if served:
        times = [START + second for second in served]
        lines.append(channel_line(SERVED, {"instance": "adapter-1"}, times, served.values()))
    if wanted:
        lines.append(channel_line(HPA, {}, [START + second for second in wanted], wanted.values()))
    lines.append(end_line(START + max(waiting)))
    path = folder / "period.jsonl.gz"
    body = "".join(lines)
    path.write_bytes(gzip.compress((write_header(_header(loaded, max(waiting), lines)) + body).encode(), mtime=0))
    return path


def _answer(waiting: Mapping[int, float]) -> Answer:
    samples = tuple(Sample(value, START + second) for second, value in waiting.items())
    return Answer((Series(labels_of({"__name__": "waiting"}), samples),))


def _header(loaded: LoadedPolicy, seconds: int, lines: list[str]) -> RecordingHeader:
    plan = loaded.plan
    return RecordingHeader(
        policy="prod/p",
        policy_sha256=policy_hash(loaded.policy),
        queries=queries_of(plan),
        start=START,
        end=START + seconds,
        every=plan.every,
        offset=plan.offset,
        lookback=plan.lookback,
        memory_ticks=plan.memory_ticks,
        scrape_interval=1.0,
        chunk_ticks=seconds + 1,
        versions={},
        channels={},
        lines=len(lines),
        sha256=hashlib.sha256("".join(lines).encode()).hexdigest(),
    )
