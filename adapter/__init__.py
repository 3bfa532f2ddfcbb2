"""Scaling signals for AI inference, served through the Kubernetes external metrics API."""
