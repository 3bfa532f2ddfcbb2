"""Policies on a grid of one second, for tests that wait for a running adapter."""

POLICY = """\
apiVersion: scaleproof.dev/v1alpha1
kind: ScalingPolicy
metadata: {{name: {name}, namespace: prod}}
spec:
  every: 1s
  memory: 10s
  offset: 2s
  scrape_interval: 500ms
  inputs: {{load: {{query: "{query}", unit: count, per: [instance]}}}}
  terms: {{q: {{concurrency: load, per_replica: 10}}}}
  publish: {{metric: {name}}}
"""


def policy_text(name: str, query: str = "load") -> str:
    return POLICY.format(name=name, query=query)
