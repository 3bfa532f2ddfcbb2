"""What is told of the sources: questions by source and outcome, answers that were shared, and the circuit's state."""

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from adapter.core.reasons import Missing

_SECONDS = (0.005, 0.02, 0.1, 0.5, 1, 2.5, 5, 10)

_log = structlog.get_logger("scaleproof.sources")


class SourceTelemetry:
    """The metrics of all sources, in the registry of the process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        source = ["source"]
        self._asked = Counter(
            "scaleproof_source_queries",
            "Queries by source and outcome, with all their tries.",
            [*source, "outcome"],
            registry=registry,
        )
        self._shared = Counter(
            "scaleproof_source_shared_answers",
            "Questions that another policy had asked already, so that they cost no query.",
            source,
            registry=registry,
        )
        self._refused = Counter(
            "scaleproof_source_refused_queries",
            "Questions that were not asked because the source's circuit was open.",
            source,
            registry=registry,
        )
        self._open = Gauge(
            "scaleproof_source_circuit_open",
            "1 while a source fails so often that it is only probed.",
            source,
            registry=registry,
        )
        self._seconds = Histogram(
            "scaleproof_source_query_seconds",
            "Time of a query with all its tries.",
            source,
            buckets=_SECONDS,
            registry=registry,
        )

    def known(self, source: str) -> None:
        """Show a source before anything is asked of it."""
        self._open.labels(source).set(0)

    def asked(self, source: str, failure: Missing | None, seconds: float) -> None:
        """Count a query that was asked."""
        self._asked.labels(source, failure.reason if failure is not None else "success").inc()
        self._seconds.labels(source).observe(seconds)

    def shared(self, source: str) -> None:
        """Count a question that shared another's answer."""
        self._shared.labels(source).inc()

    def refused(self, source: str) -> None:
        """Count a question that was not asked."""
        self._refused.labels(source).inc()

    def circuit_moved(self, source: str, host: str, is_open: bool, failure: Missing | None) -> None:
        """Show and log that a circuit opened or closed."""
        self._open.labels(source).set(int(is_open))
        if is_open and failure is not None:
            _log.warning(
                "source-circuit-open", source=source, host=host, reason=failure.reason, message=failure.message
            )
        else:
            _log.info("source-circuit-closed", source=source, host=host)
