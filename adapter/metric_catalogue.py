"""The adapter's own metrics by name: what each counts and what to do about it, in one table.

Metrics are made from this table and docs/metrics.md is written from it (`python -m adapter.metric_catalogue`), so that
neither can have one that the other lacks. The names are an interface: dashboards and alerts match them.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    """The type of a metric, in Prometheus's words."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric; `name` is that of its samples, so a counter's ends in `_total`."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    about: str
    advice: str


POLICY = ("namespace", "policy")

CATALOGUE = (
    Metric(
        "scaleproof_signal_value",
        Kind.GAUGE,
        POLICY,
        "Value served, by policy; the largest of a policy with several groups. Absent while there is no signal.",
        "Plot it beside the HPA's replicas. Where they differ, a limit, a tolerance or a behavior of the HPA decides.",
    ),
    Metric(
        "scaleproof_signal_age_seconds",
        Kind.GAUGE,
        POLICY,
        "Age of the oldest sample behind the value.",
        "offset + every + one scrape interval is normal. More: the scrape is failing, or Prometheus is behind.",
    ),
    Metric(
        "scaleproof_signal_at_ceiling",
        Kind.GAUGE,
        POLICY,
        "1 while more is asked for than the ceiling allows.",
        "For long: raise publish.ceiling (and maxReplicas), or find out what the workload waits for.",
    ),
    Metric(
        "scaleproof_signal_tick_seconds",
        Kind.GAUGE,
        POLICY,
        "Time of the evaluation that is served, in epoch seconds.",
        "It grows by `every`. `scaleproof record --served` keeps it, so that `verify` knows what a value is of.",
    ),
    Metric(
        "scaleproof_signal_missing",
        Kind.GAUGE,
        (*POLICY, "reason"),
        "1 while the evaluation that is served has no value, by the reason.",
        "As for scaleproof_no_signal_total, as of now.",
    ),
    Metric(
        "scaleproof_diagnosis",
        Kind.GAUGE,
        (*POLICY, "diagnosis", "replicas_help"),
        "1 for what limits the workload now; the label replicas_help says whether more replicas would help.",
        'replicas_help="false": scaling will not mend it; see the diagnosis in /explain.',
    ),
    Metric(
        "scaleproof_no_signal_total",
        Kind.COUNTER,
        (*POLICY, "reason"),
        "Evaluations without a signal.",
        "The HPA keeps its replicas meanwhile. The reason says whose fault it is: upstream-* Prometheus, empty the"
        " query or the exporter, stale the scrape, partial pods that do not report.",
    ),
    Metric(
        "scaleproof_bad_inputs_total",
        Kind.COUNTER,
        (*POLICY, "input", "reason"),
        "Readings of inputs that were not used.",
        "Rising while there is a signal: a rule for missing inputs stands in. Mend the input before that runs out.",
    ),
    Metric(
        "scaleproof_evaluation_seconds",
        Kind.HISTOGRAM,
        (),
        "From the begin of an evaluation, its queries included, to its signal.",
        "Near a policy's every: Prometheus is slow; look at its load, or write recording rules.",
    ),
    Metric(
        "scaleproof_evaluation_failures_total",
        Kind.COUNTER,
        POLICY,
        "Evaluations that ended in a fault of ours.",
        "Never 0 for no reason: report the log line evaluation-failed.",
    ),
    Metric(
        "scaleproof_queries_total",
        Kind.COUNTER,
        ("outcome",),
        "Queries by outcome: success, or the reason why not.",
        "Its rate is the load on Prometheus: queries of a policy ÷ every, whatever the number of groups.",
    ),
    Metric(
        "scaleproof_requests_total",
        Kind.COUNTER,
        ("code",),
        "Requests answered, by code.",
        "503 is a signal that is missing, 403 a caller without the right, 500 an API server that answers no review.",
    ),
    Metric(
        "scaleproof_policies",
        Kind.GAUGE,
        (),
        "Policies in force.",
        "Two replicas that differ for more than a minute do not see the same folder.",
    ),
    Metric(
        "scaleproof_policy_files_broken",
        Kind.GAUGE,
        (),
        "Policy files that are broken now; what they last defined stays in force.",
        "Above 0: correct the files that the log names as policy-problem. A restart would lose their policies.",
    ),
    Metric(
        "scaleproof_policy_reload_errors_total",
        Kind.COUNTER,
        (),
        "Policy files found broken, once per change, and collisions between files.",
        "See the log lines policy-problem: file, line, column and what to write instead.",
    ),
    Metric(
        "scaleproof_policy_reload_seconds",
        Kind.HISTOGRAM,
        (),
        "From the begin of a look at the policy folder that found a change until it was in force.",
        "Tens of milliseconds for a thousand files. More: the folder is on a slow disk or network.",
    ),
    Metric(
        "scaleproof_tls_reload_errors_total",
        Kind.COUNTER,
        (),
        "Serving pairs on disk that could not be used; the pair before stays in force.",
        "Certificate and key do not fit: see the log line serving-pair-refused, and renew the Secret.",
    ),
    Metric(
        "scaleproof_certificate_expiry_seconds",
        Kind.GAUGE,
        (),
        "When the serving certificate (or the first of its chain) runs out, as seconds since the epoch.",
        "scaleproof_certificate_expiry_seconds - time() below 7 days: whatever renews the Secret does not.",
    ),
    Metric(
        "scaleproof_log_lines_suppressed_total",
        Kind.COUNTER,
        (),
        "Log lines left out because the same was said within the minute.",
        "Rising fast: a signal comes and goes; see which in scaleproof_no_signal_total.",
    ),
    Metric(
        "scaleproof_status_writes_total",
        Kind.COUNTER,
        ("outcome",),
        "Writes of the status of ScalingPolicy objects, by outcome.",
        "failed: see the log; the role scaleproof:policies may lack patch on scalingpolicies/status.",
    ),
)

BY_NAME = {metric.name: metric for metric in CATALOGUE}

HEAD = """\
# Own metrics

Written from `adapter/metric_catalogue.py` by `make generated`; a test keeps it current. They are served in plain text
on `--metrics-bind-address`, path `/metrics`, beside the `process_*` metrics that every Prometheus client has (CPU time,
resident memory, open files, start time). A policy that is withdrawn takes its series with it.

| name | type | labels | what | what to do about it |
|---|---|---|---|---|
"""


def page() -> str:
    """The page, in Markdown."""
    return HEAD + "".join(_rows())


def _rows() -> Iterator[str]:
    for one in CATALOGUE:
        labels = ", ".join(f"`{label}`" for label in one.labels)
        yield f"| `{one.name}` | {one.kind} | {labels} | {one.about} | {one.advice} |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
