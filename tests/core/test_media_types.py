"""Accept headers: captures 004–032 and 187–216 of a real adapter, but for what tests/protocol/deviations.yaml lists."""

import pytest

from adapter.core.media_types import accepts_json, discovery_version, wants_pretty

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v={};as=APIGroupDiscoveryList"


@pytest.mark.parametrize(
    ("accept", "is_accepted"),
    [
        ("", True),
        ("*/*", True),
        ("application/json", True),
        ("application/vnd.kubernetes.protobuf, */*", True),
        ("application/vnd.kubernetes.protobuf", True),
        ("APPLICATION/JSON; charset=utf-8", True),
        ("application/json;q=0", True),
        ("application/json;stream=watch", True),
        ("application/cbor,application/json;q=0.9", True),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", True),
        ("application/json;as=Table;v=v1;g=meta.k8s.io", False),
        ("application/yaml", False),
        ("text/html", False),
        ("garbage", False),
        (",".join(["text/html"] * 200 + ["*/*"]), False),
    ],
)
def test_json_is_acceptable_or_not(accept: str, is_accepted: bool) -> None:
    assert accepts_json(accept) is is_accepted


@pytest.mark.parametrize(
    ("accept", "version"),
    [
        ("application/json", None),
        (AGGREGATED.format("v2"), "v2"),
        (AGGREGATED.format("v2beta1"), "v2beta1"),
        (AGGREGATED.format("v3"), None),
        (f"{AGGREGATED.format('v3')},{AGGREGATED.format('v2beta1')},application/json", "v2beta1"),
        (f"{AGGREGATED.format('v2')},{AGGREGATED.format('v2beta1')}", "v2"),
        ("application/json;g=other;v=v2;as=APIGroupDiscoveryList", None),
        (AGGREGATED.format("v2") + ";profile=nopeer", "v2"),
    ],
)
def test_the_first_aggregated_document_asked_for_is_meant(accept: str, version: str | None) -> None:
    assert discovery_version(accept) == version


def test_pretty_printing_can_be_asked_for_in_the_header() -> None:
    assert wants_pretty("application/json;pretty=1")
    assert not wants_pretty("application/json;pretty=0")
    assert not wants_pretty("application/json")
