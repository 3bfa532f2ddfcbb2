"""Properties on the corners, shrinking to the smallest scenario: the model against the real controller's own code."""

import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle_process import Oracle

from sim.hpa.conformance import Report, compare_vector
from sim.hpa.quantities import QuantityError, approximate_float, canonical, milli_value, parse, stored_quantity
from sim.hpa.versions import find_version

pytestmark = pytest.mark.slow

VERSION = find_version("1.36")
SETTINGS = settings(
    max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
MAX64 = 2**63 - 1

counts = st.one_of(st.integers(0, 12), st.sampled_from([99, 100, 110, 1000, 2**30, 2**30 + 1, 2**31 - 1]))
bounds = st.one_of(st.integers(1, 20), st.sampled_from([100, 1000, 2**31 - 1]))
targets = st.sampled_from(
    ["1m", "1", "3", "7", "10", "100m", "333333u", "1Gi", "9P", "10P", "8Ei", "9223372036854775807m", "1n", "1000E"]
)
tolerances = st.sampled_from(["0", "1m", "0.05", "0.07", "0.1", "0.35", "1", "1.0000000001", "12345u", "1e-9", "5k"])
windows = st.sampled_from([0, 1, 14, 15, 16, 30, 45, 60, 300, 3600])
policies = st.lists(
    st.fixed_dictionaries(
        {
            "type": st.sampled_from(["Pods", "Percent"]),
            "value": st.one_of(st.integers(1, 200), st.sampled_from([2**31 - 1, 2**31 - 2, 10**6])),
            "periodSeconds": st.sampled_from([1, 14, 15, 16, 30, 45, 60, 1800]),
        }
    ),
    min_size=1,
    max_size=3,
)
rules = st.fixed_dictionaries(
    {},
    optional={
        "stabilizationWindowSeconds": windows,
        "selectPolicy": st.sampled_from(["Max", "Min", "Disabled"]),
        "policies": policies,
        "tolerance": tolerances,
    },
)
behaviors = st.one_of(st.none(), st.fixed_dictionaries({}, optional={"scaleUp": rules, "scaleDown": rules}))
metrics = st.fixed_dictionaries(
    {
        "type": st.sampled_from(["External", "External", "Object", "Pods"]),
        "targetType": st.sampled_from(["Value", "AverageValue"]),
        "target": targets,
    }
)


@st.composite
def items(draw: st.DrawFn, target: int, replicas: int) -> object:
    """What a metric answers: often at an edge of the tolerance, sometimes at the end of int64, sometimes nothing."""
    kind = draw(st.sampled_from(["edge", "edge", "edge", "whole", "end", "text", "none"]))
    if kind == "none":
        return draw(st.sampled_from([None, [], {"error": "x"}]))
    if kind == "end":
        ends = st.sampled_from([MAX64, MAX64 - 1, -MAX64, -MAX64 - 1, 2**62, 2**53 + 1, -1, 0, 10**18, -(10**18)])
        return draw(st.lists(ends, min_size=1, max_size=3))
    if kind == "text":
        return draw(st.lists(targets, min_size=1, max_size=2))
    ratio = draw(st.sampled_from([0.0, 0.5, 0.9, 0.95, 1.0, 1.05, 1.07, 1.1, 1.35, 2.0]))
    if kind == "whole":
        ratio = draw(st.integers(0, 30)) / max(1, replicas)
    usage = round(target * max(1, replicas) * ratio) + draw(st.integers(-2, 2))
    split = draw(st.integers(0, 3))
    parts = [usage] if split == 0 else [usage - split, split]
    return [max(-MAX64, min(MAX64, part)) for part in parts]


@st.composite
def scenarios(draw: st.DrawFn) -> dict:
    """A short scenario full of corners; the smallest failing one is what hypothesis shows."""
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    specs = []
    for name in names:
        metric = {"name": name, **draw(metrics)}
        if metric["type"] == "Pods":
            metric["targetType"] = "AverageValue"
        specs.append(metric)
    high = draw(bounds)
    low = draw(st.integers(0, min(high, 20)))
    gates = {"HPAScaleToZero": low == 0, "HPAConfigurableTolerance": draw(st.booleans())}
    steps = []
    for _ in range(draw(st.integers(1, 6))):
        replicas = draw(counts) if draw(st.booleans()) else None
        step: dict[str, object] = {} if replicas is None else {"specReplicasOverride": replicas}
        # Pods are real objects in the oracle, so their number stays small.
        step["statusReplicas"] = draw(st.integers(0, 12))
        if draw(st.booleans()):
            step["readyPods"] = draw(st.integers(0, 14))
            step["pendingPods"] = draw(st.integers(0, 3))
        step["metrics"] = {
            spec["name"]: draw(items(milli_value(stored_quantity(spec["target"])), step["statusReplicas"]))
            for spec in specs
        }
        if draw(st.integers(0, 9)) == 0:
            step[draw(st.sampled_from(["scaleGetError", "scaleUpdateError"]))] = True
        if draw(st.integers(0, 9)) == 0:
            step["hpa"] = draw(
                st.one_of(
                    st.fixed_dictionaries({"behavior": behaviors}),
                    st.fixed_dictionaries({"maxReplicas": bounds}),
                    st.fixed_dictionaries({"minReplicas": st.integers(0, 25)}),
                )
            )
        steps.append(step)
    controller = {
        "syncPeriodSeconds": 15,
        "downscaleStabilizationSeconds": draw(st.sampled_from([0, 0.5, 15, 15.5, 30, 300])),
        "tolerance": draw(st.sampled_from([0, 0.05, 0.1, 0.35, 1, 1.5])),
        "reconcileLatencyMillis": draw(st.sampled_from([0, 0, 1, 500])),
    }
    return {
        "name": "property",
        "hpa": {"minReplicas": low, "maxReplicas": high, "metrics": specs, "behavior": draw(behaviors)},
        "controller": controller,
        "featureGates": gates,
        "initialReplicas": draw(counts),
        "steps": steps,
    }


@pytest.fixture(scope="module")
def controller():
    with Oracle("run") as oracle:
        yield oracle


@pytest.fixture(scope="module")
def quantities():
    with Oracle("quantity") as oracle:
        yield oracle


@SETTINGS
@given(scenario=scenarios())
def test_the_model_decides_every_corner_as_the_controller(controller, scenario):
    report = Report()
    compare_vector(controller.ask(scenario), VERSION, report)
    assert report.differences == []
    assert report.unmodelled == {}


digits = st.text("0123456789", max_size=25)
suffixes = st.one_of(
    st.sampled_from(
        ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e", "E+", "x"]
    ),
    st.integers(-30, 30).map(lambda power: f"e{power}"),
    st.integers(-30, 30).map(lambda power: f"E{power:+d}"),
)
texts = st.builds(
    lambda sign, whole, point, fraction, suffix: sign + whole + point + fraction + suffix,
    st.sampled_from(["", "-", "+"]),
    digits,
    st.sampled_from(["", "."]),
    digits,
    suffixes,
)


@settings(SETTINGS, max_examples=3000)
@given(text=texts)
def test_a_quantity_is_read_and_stored_as_kubernetes_does(quantities, text):
    answer = quantities.ask(text)
    if text == "" or "error" in answer:
        with pytest.raises(QuantityError):
            parse(text)
        return
    quantity = stored_quantity(text)
    assert canonical(parse(text)) == answer["stored"]
    assert milli_value(parse(text)) == answer["milli"]
    assert milli_value(quantity) == answer["storedMilli"]
    assert quantity.sign == answer["sign"]
    assert math.isclose(approximate_float(quantity), float(answer["float"]), rel_tol=0, abs_tol=0)
