"""The demonstration: a bundled trace, an endpoint that answers like Prometheus, the adapter, and a live view."""
