"""Lints of own queries: units, renames and labels that a preset would know, and shapes that hide missing data."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from adapter.core import promql, promql_shapes
from adapter.core.documents import Path
from adapter.core.lint_subject import Found, Subject
from adapter.core.policy_inputs import QueryInput
from adapter.core.presets import PresetLibrary, Take
from adapter.core.units import Unit

_TIME_SUFFIX = re.compile(r"_(ms|milliseconds|us|microseconds)(_total|_sum|_bucket)?$")
_PERCENT_SUFFIX = re.compile(r"_(percent|percentage|pct)$")
_RATIO_SUFFIX = re.compile(r"_ratio$")
CARD_LABELS = ("UUID", "uuid", "gpu_uuid", "gpu_id", "serial_number", "pci_bdf", "gpu")
FREEZING_METRICS = ("inference_pool_per_pod_queue_size", "llm_d_epp_per_endpoint_queue_size")
FREEZING_PRESETS = ("endpoint-picker/requests-waiting",)
FROZEN = "the exporter goes on to tell of pods that are gone, with the last value they had"
FROZEN_FIX = "read the engine's own metric, whose series end with the pod, or join with kube_pod_status_ready"
XID_METRIC = "DCGM_FI_DEV_XID_ERRORS"


@dataclass(frozen=True, slots=True)
class Known:
    """What a preset knows of a metric: its unit times `scale` where that is sure, and its present name."""

    preset: str
    unit: Unit | None
    scale: float
    newest: str
    is_of_cards: bool = False


@lru_cache(maxsize=8)
def known_metrics(library: PresetLibrary) -> dict[str, Known]:
    """Every metric that a preset reads, by name; the first preset that reads it alone tells its unit."""
    found: dict[str, Known] = {}
    names, _ = library.names()
    for name in names:
        preset = library.input(name)
        if preset is None:
            continue
        for series in preset.series.values():
            is_of_cards = bool({*preset.parts} & {*CARD_LABELS})
            is_sure = len(preset.series) == 1 and series.take is Take.LATEST and preset.kind == "gauge"
            for metric in series.metrics:
                unit = preset.unit if is_sure else None
                one = Known(name, unit, series.scale, series.metrics[0], is_of_cards)
                if metric not in found or (found[metric].unit is None and is_sure):
                    found[metric] = one
    return found


def find(subject: Subject) -> Iterator[Found]:
    """Findings about the own queries of a policy."""
    known = known_metrics(subject.library)
    for name, declared in subject.policy.spec.inputs.items():
        if isinstance(declared, QueryInput):
            path: Path = ("spec", "inputs", name)
            yield from _shapes(declared, path)
            yield from _metrics(declared, path, known)
        elif declared.preset in FREEZING_PRESETS:
            yield Found(("spec", "inputs", name, "preset"), "frozen-series", FROZEN, FROZEN_FIX)


def _shapes(declared: QueryInput, path: Path) -> Iterator[Found]:
    query, place = declared.query.strip(), (*path, "query")
    if declared.freshness is None and promql.kind_of(query) is promql.QueryKind.DERIVED:
        message = "a computed answer carries the time it was computed, so stale data cannot be seen"
        yield Found(
            place, "freshness-missing", message, "add freshness: the selector of the metric it is computed from"
        )
    if promql_shapes.fills_with_zero(query):
        message = "or vector(0) turns missing data into 0, which scales down when Prometheus loses its targets"
        yield Found(place, "vector-zero", message, "remove it; missing: tells what follows when there is no data")
    if promql_shapes.rates_a_sum(query):
        message = "a rate of a sum takes the fall at a restart for a counter's reset and counts the rest again"
        yield Found(place, "rate-of-sum", message, "take the rate first: sum(rate(x[1m]))")
    if promql_shapes.divides_rates(query):
        message = "a rate divides, so the answer is NaN when nothing happens, and there is no signal when idle"
        yield Found(place, "ratio-nan", message, "say what idle means: add > 0 to the divisor and missing: {assume: 0}")
    if "histogram_quantile" in promql_shapes.calls(query):
        message = "the percentile of three requests looks like that of thousands, and above the last bucket it is +Inf"
        fix = "use a histogram preset with quantile: it wants min_count requests and knows the last bucket"
        yield Found(place, "quantile-in-query", message, fix)


def _metrics(declared: QueryInput, path: Path, known: dict[str, Known]) -> Iterator[Found]:
    query, place = declared.query.strip(), (*path, "query")
    metrics = list(dict.fromkeys(promql_shapes.metrics(query)))
    converts = promql_shapes.has_number(query)
    for metric in metrics:
        one = known.get(metric)
        if one is not None and one.newest != metric and one.newest not in metrics:
            message = f"{metric} is called {one.newest} now, and in a mixed rollout pods have either"
            yield Found(place, "renamed-metric", message, f"use preset: {one.preset}, which takes each pod's first")
        if not converts:
            yield from _unit(declared, metric, one, path)
        if metric.startswith("DCGM_") and "pod" in declared.per and "exported_pod" not in query:
            message = "pod is the exporter's own pod unless the scrape honours labels; the workload is exported_pod"
            yield Found(place, "exported-labels", message, "use a dcgm preset, or per: [exported_pod]")
        if promql_shapes.adds_up_without(query, CARD_LABELS) and one is not None and one.is_of_cards:
            message = f"{metric} is told once for each pod that shares a card, and twice for a pod with two containers"
            fix = "take each card once first: sum(max by (UUID, GPU_I_ID) (…)), or use the preset"
            yield Found(place, "gpu-counted-twice", message, fix)
        if metric in FREEZING_METRICS and "kube_pod_status" not in query:
            yield Found(place, "frozen-series", FROZEN, FROZEN_FIX)
        if metric == XID_METRIC and "changes" not in promql_shapes.calls(query):
            message = "the metric is the code of the last XID and keeps it, so it never goes back"
            yield Found(place, "xid-by-value", message, "use guards: [{hold_scale_down: {after: xid}}]")


def _unit(declared: QueryInput, metric: str, one: Known | None, path: Path) -> Iterator[Found]:
    is_selector = promql.kind_of(declared.query.strip()) is promql.QueryKind.SELECTOR
    place = (*path, "unit")
    if one is not None and one.unit is not None and is_selector:
        if declared.unit is not one.unit and one.scale == 1:
            yield Found(place, "unit-of-metric", f"{metric} is in {one.unit}", f"write unit: {one.unit}")
        elif declared.unit is one.unit and one.scale != 1:
            message = f"{metric} counts {one.scale:g} {one.unit} each"
            yield Found(place, "unit-of-metric", message, f"use preset: {one.preset}, or multiply by {one.scale:g}")
        return
    suffix = _TIME_SUFFIX.search(metric)
    if suffix and declared.unit is Unit.SECONDS:
        factor = 1000 if suffix.group(1).startswith("m") and suffix.group(1) != "microseconds" else 1_000_000
        message = f"{metric} counts {suffix.group(1)}, not seconds"
        yield Found(place, "time-unit", message, f"divide by {factor}")
    if _PERCENT_SUFFIX.search(metric) and declared.unit is Unit.RATIO:
        yield Found(place, "unit-of-metric", f"{metric} says percent", "write unit: percent, or divide by 100")
    if _RATIO_SUFFIX.search(metric) and declared.unit is Unit.PERCENT:
        yield Found(place, "unit-of-metric", f"{metric} says ratio", "write unit: ratio, or multiply by 100")
