"""A policy, its HPA and a test file in a folder, small enough to work out every number by hand."""

from pathlib import Path

POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {name: chat, namespace: inference}
spec:
  every: 15s
  replicas: {preset: kube/deployment-replicas, match: {deployment: chat}}
  inputs: {flight: {query: "flight", unit: count}}
  terms: {batch: {concurrency: flight, per_replica: PER_REPLICA}}
  publish: {metric: chat-replicas}
"""
HPA = """\
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat, namespace: inference}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 1
  maxReplicas: 20
  metrics:
  - type: External
    external: {metric: {name: chat-replicas}, target: {type: AverageValue, averageValue: "1"}}
  behavior:
    scaleUp: {tolerance: "0", stabilizationWindowSeconds: 0}
    scaleDown: {tolerance: "0", stabilizationWindowSeconds: WINDOW}
"""
TEST = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingTest
tests:
"""


def write_policy(folder: Path, per_replica: int = 10, window: int = 300) -> Path:
    """chat.yaml and chat.hpa.yaml: so many requests in flight are one replica's."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "chat.yaml").write_text(POLICY.replace("PER_REPLICA", str(per_replica)))
    (folder / "chat.hpa.yaml").write_text(HPA.replace("WINDOW", str(window)))
    return folder


def write_tests(folder: Path, tests: str) -> Path:
    """chat.test.yaml with these tests."""
    path = folder / "chat.test.yaml"
    path.write_text(TEST + tests)
    return path
