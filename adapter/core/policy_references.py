"""References: which inputs a term names, and where in the term."""

from adapter.core.documents import Path
from adapter.core.policy_terms import (
    BacklogTerm,
    ConcurrencyTerm,
    ExpressionTerm,
    HeadroomTerm,
    LatencyTerm,
    TermBase,
    ThroughputTerm,
    UtilizationTerm,
)


def references(term: TermBase) -> list[tuple[Path, str]]:
    """The inputs that a term reads, with their place in the term."""
    match term:
        case ThroughputTerm():
            plus = [(("plus", "backlog"), term.plus.backlog)] if term.plus is not None else []
            return [(("throughput",), term.throughput), *plus]
        case BacklogTerm():
            return [(("backlog",), term.backlog)]
        case ConcurrencyTerm():
            return [(("concurrency",), term.concurrency)]
        case UtilizationTerm():
            return [(("utilization",), term.utilization)]
        case HeadroomTerm():
            return [(("headroom",), term.headroom)]
        case LatencyTerm():
            return [(("latency",), term.latency)]
        case ExpressionTerm():
            return []
        case _:
            raise TypeError(f"no references known for a term of type {type(term).__name__}")
