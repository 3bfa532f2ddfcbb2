"""The documents of the external metrics API, byte for byte as real adapters send them (tests/protocol/README.md)."""

import json

import pytest

from adapter.core.external_metrics import (
    API_GROUP,
    API_GROUP_LIST,
    API_RESOURCE_LIST,
    Details,
    MetricValue,
    Status,
    bad_request,
    no_signal,
    render_group_discovery,
    render_pretty,
    render_value_list,
    rfc3339,
    unknown_metric,
)

QUEUE = MetricValue("queue", {}, 1_796_068_700.0, "100")


def test_a_value_list_has_the_bytes_of_a_real_adapter() -> None:
    """Capture 064 of prometheus-adapter."""
    assert render_value_list([QUEUE]) == (
        b'{"kind":"ExternalMetricValueList","apiVersion":"external.metrics.k8s.io/v1beta1","metadata":{},"items":['
        b'{"metricName":"queue","metricLabels":{},"timestamp":"2026-11-30T19:58:20Z","value":"100"}]}\n'
    )


def test_pretty_printing_has_the_bytes_of_a_real_adapter() -> None:
    """Capture 123 of prometheus-adapter: 257 bytes, two spaces, no newline at the end."""
    pretty = render_pretty(render_value_list([QUEUE]))
    assert len(pretty) == 257
    assert pretty.startswith(b'{\n  "kind": "ExternalMetricValueList",\n')
    assert pretty.endswith(b'      "value": "100"\n    }\n  ]\n}')


def test_labels_stand_in_the_order_of_their_names_and_keep_their_letters() -> None:
    body = render_value_list([MetricValue("m", {"z": "ü", "a": "<&>"}, 0.0, "1m")])
    assert b'"metricLabels":{"a":"\\u003c\\u0026\\u003e","z":"\xc3\xbc"}' in body


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1970-01-01T00:00:00Z"),
        (1_796_068_700.999, "2026-11-30T19:58:20Z"),
        (951_782_400.0, "2000-02-29T00:00:00Z"),
    ],
)
def test_a_timestamp_is_whole_seconds_rounded_down(seconds: float, text: str) -> None:
    assert rfc3339(seconds) == text


def test_a_bad_request_has_the_bytes_of_a_real_adapter() -> None:
    """Capture 085 of prometheus-adapter."""
    assert bad_request("found '=', expected: ',' or 'end of string'").render() == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"found \'=\', expected: \',\''
        b' or \'end of string\'","reason":"BadRequest","code":400}\n'
    )


def test_the_empty_details_of_a_routing_error_are_written() -> None:
    """Capture 042 of prometheus-adapter."""
    message = "the server does not allow this method on the requested resource"
    assert Status(405, "MethodNotAllowed", message, Details()).render() == (
        b'{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"the server does not allow'
        b' this method on the requested resource","reason":"MethodNotAllowed","details":{},"code":405}\n'
    )


def test_no_signal_tells_machines_why_and_does_not_invite_to_retry() -> None:
    document = json.loads(no_signal("llama-replicas", "stale", "the newest sample is 95 s old").render())
    assert (document["code"], document["reason"]) == (503, "ServiceUnavailable")
    assert document["details"]["causes"] == [{"reason": "stale", "message": "the newest sample is 95 s old"}]
    assert "retryAfterSeconds" not in document["details"]


def test_an_unknown_metric_is_404() -> None:
    document = json.loads(unknown_metric("nosuch").render())
    assert (document["code"], document["reason"], document["details"]["name"]) == (404, "NotFound", "nosuch")


def test_discovery_lists_one_placeholder_and_no_metric() -> None:
    assert json.loads(API_GROUP_LIST)["groups"][0] == {
        "name": "external.metrics.k8s.io",
        "versions": [{"groupVersion": "external.metrics.k8s.io/v1beta1", "version": "v1beta1"}],
        "preferredVersion": {"groupVersion": "external.metrics.k8s.io/v1beta1", "version": "v1beta1"},
    }
    assert API_GROUP == (  # capture 001
        b'{"kind":"APIGroup","apiVersion":"v1","name":"external.metrics.k8s.io","versions":[{"groupVersion":'
        b'"external.metrics.k8s.io/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":'
        b'"external.metrics.k8s.io/v1beta1","version":"v1beta1"}}\n'
    )
    assert json.loads(API_RESOURCE_LIST)["resources"] == [
        {
            "name": "externalmetrics",
            "singularName": "",
            "namespaced": True,
            "kind": "ExternalMetricValueList",
            "verbs": ["get"],
        }
    ]


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_aggregated_discovery_is_never_empty(version: str) -> None:
    document = json.loads(render_group_discovery(version))
    assert document["apiVersion"] == f"apidiscovery.k8s.io/{version}"
    resources = document["items"][0]["versions"][0]["resources"]
    assert [resource["resource"] for resource in resources] == ["externalmetrics"]
