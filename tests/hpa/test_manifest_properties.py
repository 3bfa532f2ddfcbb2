"""Any manifest, changed in any place, gets the verdict of the API server's own code; failures shrink to one change."""

import copy
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle_process import Oracle

from adapter.core.problems import has_errors
from sim.hpa.manifest import read_manifests
from sim.hpa.manifest_fields import STRUCTS

pytestmark = pytest.mark.slow

MANIFESTS = Path(__file__).parent / "manifests"
BASES = [yaml.safe_load(file.read_text()) for file in sorted(MANIFESTS.glob("good-*.yaml"))]
VALUES = st.one_of(
    st.none(),
    st.sampled_from(["2026-11-30T22:14:24Z", "2026-11-30T22:14:24.5+01:00", "2026-11-30", "Apply", "FieldsV1"]),
    st.booleans(),
    st.sampled_from(
        ["", "a", "A", "a-b", "-a", "a.b", "a/b", "a/b/c", "%", ".", "..", " ", "1", "0", "-1", "1m", "5k", "x" * 64]
    ),
    st.sampled_from(
        ["External", "Object", "Pods", "Resource", "Value", "AverageValue", "Utilization", "Max", "Disabled"]
    ),
    st.sampled_from(
        ["v1", "apps/v1", "/", "/v1", "apps/", "Percent", "cpu", "hugepages-2Mi", "requests.x/y", "Deployment"]
    ),
    st.sampled_from([-1, 0, 1, 2, 10, 1800, 1801, 3600, 3601, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1]),
    st.sampled_from([0.0, 0.5, 1.0, -0.5, 1e10, 1e300, 1e21, 1e20, 2.5]),
    st.sampled_from([[], {}, [1], ["a"], [None], [{}], {"a": 1}, {"a": "b"}, {"type": "Pods"}]),
)
KEYS = st.sampled_from(sorted({"Name", "cooldown", *(name for fields in STRUCTS.values() for name in fields)}))


def places(value: object, path: tuple = ()) -> list[tuple]:
    """Every path in a document."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(deeper for key, child in children for deeper in places(child, (*path, key)))]


@st.composite
def changed(draw: st.DrawFn) -> dict:
    """A good manifest with one to three places replaced, removed or added; never what kind of document it is."""
    document = copy.deepcopy(draw(st.sampled_from(BASES)))
    for _ in range(draw(st.integers(1, 3))):
        choices = [place for place in places(document) if place and place not in (("kind",), ("apiVersion",))]
        if not choices:
            break
        path = draw(st.sampled_from(choices))
        parent = document
        for key in path[:-1]:
            parent = parent[key]
        how = draw(st.sampled_from(["replace", "replace", "remove", "add"]))
        if how == "replace":
            parent[path[-1]] = copy.deepcopy(draw(VALUES))
        elif how == "remove":
            del parent[path[-1]]
        elif isinstance(parent, dict) and parent is not document:
            parent[draw(KEYS)] = copy.deepcopy(draw(VALUES))
    return document


@pytest.fixture(scope="module")
def api_server():
    with Oracle("validate") as oracle:
        yield oracle


@settings(
    max_examples=1500, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(document=changed(), scale_to_zero=st.booleans(), tolerance=st.booleans())
def test_any_change_gets_the_verdict_of_the_api_server(api_server, document, scale_to_zero, tolerance):
    text = yaml.safe_dump(document)
    gates = {"HPAScaleToZero": scale_to_zero, "HPAConfigurableTolerance": tolerance}
    reasons = api_server.ask({"yaml": text, "featureGates": gates})["errors"]
    manifests, problems = read_manifests(text, "m.yaml", scale_to_zero, tolerance)
    assert has_errors(problems) == bool(reasons), (text, reasons, [str(problem) for problem in problems])
    assert len(manifests) == (not reasons)
