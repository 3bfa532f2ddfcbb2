"""The catalogue: every code that a check can report, its severity and what it is about, as data.

SARIF rules, the index of the documentation and the list of what can be silenced come from here. Each lint has a page
`docs/lints/CODE.md` with its reason in numbers, each error a section of `docs/errors.md`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from adapter.core.problems import Severity


class Group(StrEnum):
    """What must be looked at for a code to be found."""

    DOCUMENT = "document"  # errors: the document is refused
    POLICY = "policy"  # the policy alone
    HPA = "hpa"  # the policy and the HPA that asks for it
    PROMETHEUS = "prometheus"  # what Prometheus answers now


@dataclass(frozen=True, slots=True)
class Rule:
    """One code."""

    code: str
    title: str
    group: Group
    severity: Severity = Severity.WARNING

    @property
    def page(self) -> str:
        """Where the documentation explains it, from the root of the project."""
        return f"docs/errors.md#{self.code}" if self.group is Group.DOCUMENT else f"docs/lints/{self.code}.md"

    @property
    def can_be_silenced(self) -> bool:
        """Whether a policy may say, with a reason, that it knows better."""
        return self.severity is Severity.WARNING and not self.code.startswith("ignore-")


_POLICY = {
    "backlog-alone": "A backlog alone is an integrator and oscillates",
    "concurrency-of-waiting": "Waiting requests alone are no concurrency",
    "drain-too-short": "A backlog drained faster than new replicas come oscillates",
    "every-below-scrape": "Evaluations between scrapes see nothing new",
    "exported-labels": "The label pod of a DCGM series may be the exporter's",
    "frozen-series": "A series of what is gone keeps its last value",
    "freshness-missing": "A computed answer hides how old its data is",
    "gpu-counted-twice": "A GPU that is told for several pods is added for each",
    "gpu-util-coarse": "GPU_UTIL is full with one request",
    "groups-undeclared": "A sum over groups that are only seen shrinks when one vanishes",
    "groups-without-replicas": "Kubernetes does not know the labels that tell the groups apart",
    "guard-latches": "A guard on preallocated memory holds for ever",
    "hold-long": "Old data decides for long",
    "idle-share": "What an idle replica shows does not divide",
    "ignore-invalid": "A lint is silenced in a way that does not count",
    "ignore-unused": "A silenced lint does not occur",
    "keep-free-large": "Much room is kept free and paid for",
    "keep-free-small": "Too little room is kept free to absorb a wave",
    "latency-alone": "A latency term only raises",
    "max-age-short": "One failed scrape makes the input stale",
    "no-unbounded-term": "Every term saturates",
    "offset-too-small": "Answers change after they are used",
    "quantile-in-query": "A percentile in a query hides how few requests it speaks of",
    "rate-of-sum": "A rate of a sum takes every restart for traffic",
    "ratio-nan": "A ratio of rates is NaN when idle",
    "renamed-metric": "The metric has another name in newer versions",
    "replicas-missing": "A failed pod cannot be told from one scaled down",
    "share-high": "A share close to saturation leaves nothing for waves",
    "smoothing-up": "Smoothing upwards delays every replica",
    "target-high": "A high utilization target grows slowly",
    "time-unit": "The metric counts milliseconds or microseconds",
    "unit-of-metric": "The metric has another unit",
    "unused-input": "An input that nothing reads",
    "vector-zero": "The query turns missing data into zero",
    "vram-preallocated": "VRAM is constant on an engine that preallocates",
    "window-short": "The window may hold one sample, which gives no rate",
    "xid-by-value": "The XID code sticks; only its change is an event",
}
_HPA = {
    "hpa-down-window-short": "N is as old as a scrape, and a short window follows it",
    "hpa-floor-above-max": "The floor asks for more than the HPA may have",
    "hpa-max-above-ceiling": "The HPA never reaches its maximum",
    "hpa-other-workload": "The HPA scales another workload than the policy reads",
    "hpa-selector-missing": "The HPA asks for all groups at once",
    "hpa-target-unreachable": "The target is above what the metric can be",
    "hpa-target-value": "The published replicas are divided once more",
    "hpa-tolerance-dropped": "This Kubernetes drops the tolerance",
    "hpa-tolerance-missing": "A tenth of the replicas is ignored",
    "hpa-up-window": "Two smoothings follow each other",
    "hpa-zero-gate": "This Kubernetes refuses zero replicas by default",
    "hpa-zero-pod-inputs": "From zero replicas nothing asks for the first",
}
_HPA_ERRORS = {
    "alias-collision": "Two groups with one label",
    "hpa-metric-unknown": "No policy publishes the metric that the HPA asks for",
    "selector-value-not-expressible": "A selector's value that no label can have",
    "hpa-target-type": "The target type does not fit what is published",
}
_PROMETHEUS = {
    "no-label": "The series lack a label that the input needs",
    "no-series": "Nothing matches what an input asks for",
}
_ERRORS = {
    "alias-collision": "Two groups with one label",
    "amount": "An amount that cannot be read",
    "base-missing": "Memory whose idle share is not declared",
    "bounded-saturates": "A number that ends at what one replica holds",
    "combine": "A combination that cannot be read",
    "completions-saturate": "Completions in place of arrivals",
    "condition-only": "A number for conditions where a load is wanted",
    "cron": "Not a cron expression",
    "duplicate-key": "A key stands twice",
    "duplicate-metric": "Two policies publish one metric",
    "duplicate-policy": "Two policies have one name",
    "empty-file": "A file without a document",
    "expression": "Not an expression of this language",
    "file-unreadable": "A file that cannot be read",
    "floor-above-ceiling": "The floor is above the ceiling",
    "freshness-selector": "Freshness that is no selector",
    "guard-cause": "A guard without one cause",
    "headroom-no-room": "No room is left to divide by",
    "histogram": "A histogram where a number is needed",
    "hold-beyond-memory": "A hold longer than the memory",
    "idle-runaway": "An idle replica asks for another one",
    "input-source": "An input without one source",
    "label-twice": "A label given twice",
    "match-missing": "Replicas of every workload",
    "mean-latency": "A mean in place of a percentile",
    "memory-range": "A memory that does not hold what is asked of it",
    "missing-rule": "Not a rule for missing data",
    "name-invalid": "Not a name",
    "overrides-need-by": "Overrides without groups",
    "prometheus-unanswered": "Prometheus could not be asked",
    "promql": "Not PromQL",
    "regex": "Not a regular expression of Prometheus",
    "replicas-required": "N is needed and nothing gives it",
    "required-key": "A key is missing",
    "schedule": "A schedule that says nothing",
    "shape": "A shape that cannot be read",
    "target-missing": "Nothing to divide by",
    "target-too-high": "A target that a full replica never exceeds",
    "term-kind": "A term without one rule",
    "too-many-problems": "More problems than are told",
    "total-needs-one-term": "A total of several inputs",
    "two-targets": "Two targets in the wrong order",
    "unit-mismatch": "A unit that does not fit",
    "unknown-input": "No input of that name",
    "unknown-key": "A key that is not known",
    "unknown-preset": "No preset of that name",
    "unknown-term": "No term of that name",
    "value-invalid": "A value that cannot be read",
    "value-range": "A value out of range",
    "yaml-key": "A key that is no text",
    "yaml-merge": "A merge key",
    "yaml-syntax": "Not YAML",
    "yaml-tag": "A YAML tag",
    "yaml-too-large": "A document out of bounds",
    "zone": "Not a time zone",
}


def _rules(titles: Mapping[str, str], group: Group, severity: Severity = Severity.WARNING) -> dict[str, Rule]:
    return {code: Rule(code, title, group, severity) for code, title in titles.items()}


CATALOGUE: Mapping[str, Rule] = {
    **_rules(_POLICY, Group.POLICY),
    **_rules(_HPA, Group.HPA),
    **_rules(_HPA_ERRORS, Group.HPA, Severity.ERROR),
    **_rules(_PROMETHEUS, Group.PROMETHEUS),
    **_rules(_ERRORS, Group.DOCUMENT, Severity.ERROR),
}
"""Every code of a policy's check. What is wrong with an HPA by itself has the codes of the API server's own rules."""

LINTS: Mapping[str, Rule] = {code: rule for code, rule in CATALOGUE.items() if rule.group is not Group.DOCUMENT}
"""The codes that have a page of their own."""
