"""The HorizontalPodAutoscaler of Kubernetes, decision by decision, as pure functions."""
