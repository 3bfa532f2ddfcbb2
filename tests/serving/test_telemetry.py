"""The adapter's own metrics: documented in full, shown as of now, and gone with the policy they are about."""

from pathlib import Path

import pytest
from exposition import read_exposition
from grid_policies import policy_text
from policy_world import LIBRARY

from adapter import clock, metric_catalogue
from adapter.core.policy_reading import read_policies
from adapter.core.reasons import Missing, Reason
from adapter.core.signals import GroupSignal, InputWhy, NoSignal, Signal, Why
from adapter.metric_catalogue import CATALOGUE
from adapter.telemetry import Telemetry

ROOT = Path(__file__).parents[2]


def why(reason: str | None) -> Why:
    inputs = (InputWhy("load", "count", 0, None, None, None, None, reason, ""),)
    return Why(0.0, 0.0, inputs, (), None, None, None, None, "", ())


def shown(telemetry: Telemetry) -> dict[str, float]:
    """Every series that names a policy, by its name and labels but for the policy's."""
    found = {}
    for series in read_exposition(telemetry.exposition().decode(), 0.0):
        labels = dict(series.labels)
        if labels.pop("policy", None):
            labels.pop("namespace")
            name = labels.pop("__name__").removeprefix("scaleproof_")
            found[" ".join([name, *labels.values()])] = series.samples[0].value
    return found


def test_every_metric_is_in_the_table_with_its_type_and_labels() -> None:
    found = {family.name: family for family in Telemetry().registry.collect()}
    own = {name for name in found if name.startswith("scaleproof_")}
    assert own == {one.name.removesuffix("_total") for one in CATALOGUE}
    for one in CATALOGUE:
        family = found[one.name.removesuffix("_total")]
        assert (family.type, family.documentation) == (str(one.kind), one.about)


def test_the_page_of_metrics_is_current() -> None:
    assert (ROOT / "docs/metrics.md").read_text() == metric_catalogue.page(), "run `make generated`"


def test_no_cell_of_the_page_breaks_its_table() -> None:
    rows = [line for line in metric_catalogue.page().splitlines() if line.startswith("| `")]
    assert [row.count("|") for row in rows] == [6] * len(CATALOGUE)


def test_values_are_shown_while_there_are_any_and_nothing_stays_of_a_policy_that_is_withdrawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clock, "now", lambda: 100.0)
    (loaded,), _ = read_policies(policy_text("a"), "a.yaml", LIBRARY)
    telemetry = Telemetry()
    two = [
        GroupSignal({"model": "x"}, Signal(2500, 70.0, why(None), is_at_ceiling=True)),
        GroupSignal({"model": "y"}, Signal(7000, 80.0, why(None))),
    ]
    telemetry.evaluated(loaded, 99.0, two, 0.1)
    # The largest value, the age of the oldest sample (100 - 70), and that one of the two is cut.
    assert shown(telemetry) == {
        "signal_value": 7.0,
        "signal_age_seconds": 30.0,
        "signal_at_ceiling": 1.0,
        "signal_tick_seconds": 99.0,
    }
    telemetry.evaluated(loaded, 100.0, [GroupSignal({}, NoSignal(Missing(Reason.STALE, ""), why("stale")))], 0.1)
    telemetry.evaluation_failed(loaded.policy.key)
    assert shown(telemetry) == {
        "signal_tick_seconds": 100.0,
        "signal_missing stale": 1.0,
        "no_signal_total stale": 1.0,
        "bad_inputs_total load stale": 1.0,
        "evaluation_failures_total": 1.0,
    }
    telemetry.withdrawn(loaded.policy.key)
    assert shown(telemetry) == {}
