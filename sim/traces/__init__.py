"""Traces: recorded or generated time series that stand in for a live source."""
