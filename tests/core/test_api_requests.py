"""Reading requests: what is authorized is what is served. Expectations: captures of a real adapter (tests/protocol)."""

import pytest

from adapter.core.api_requests import AccessAttributes, TargetError, read_request

ROOT = "/apis/external.metrics.k8s.io/v1beta1"


def attributes(method: str, target: str) -> AccessAttributes:
    return read_request(method, target).attributes


def resource(verb: str, namespace: str, metric: str, **others: str) -> AccessAttributes:
    group = "external.metrics.k8s.io"
    return AccessAttributes(verb, "", group, "v1beta1", namespace, metric, **others)


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("GET", "/namespaces/default/queue", resource("list", "default", "queue")),
        ("GET", "/namespaces/default/queue/", resource("list", "default", "queue")),
        ("GET", "/namespaces/default/queue?watch=true", resource("watch", "default", "queue")),
        ("GET", "/namespaces/default/queue?watch=x", resource("watch", "default", "queue")),
        ("GET", "/namespaces/default/queue?watch=0", resource("list", "default", "queue")),
        ("GET", "/namespaces/default/queue/name", resource("get", "default", "queue", name="name")),
        ("GET", "/queue", resource("list", "", "queue")),
        ("GET", "/namespaces/default/a%2Fb", resource("get", "default", "a", name="b")),
        ("GET", "/namespaces/default/status", resource("list", "default", "status")),
        ("HEAD", "/namespaces/default/queue", resource("list", "default", "queue")),
        ("POST", "/namespaces/default/queue", resource("create", "default", "queue")),
        ("DELETE", "/namespaces/default/queue", resource("deletecollection", "default", "queue")),
        ("PATCH", "/namespaces/default/queue", resource("patch", "default", "queue")),
        ("TRACE", "/namespaces/default/queue", resource("", "default", "queue")),
        ("GET", "/watch/namespaces/default/queue", resource("watch", "default", "queue")),
        ("GET", "/namespaces/../queue", resource("list", "..", "queue")),
    ],
)
def test_a_path_below_a_version_asks_for_a_resource(method: str, path: str, expected: AccessAttributes) -> None:
    assert attributes(method, ROOT + path) == expected


@pytest.mark.parametrize(
    "path", ["/", "/apis", "/apis/external.metrics.k8s.io", ROOT, "/healthz/ping", "/nosuch/a/b/c"]
)
def test_any_other_path_is_asked_for_as_a_path(path: str) -> None:
    assert attributes("GET", path) == AccessAttributes("get", path=path)


@pytest.mark.parametrize(
    "target",
    [
        "/%zz",
        "/%",
        "/%4",
        "/a?labelSelector=%zz",
        "/a?%zz=b",
        "/a?labelSelector=a;b=c",
        "/%ff",
        "/a?labelSelector=%ff",
        "/a?labelSelector=%00",
        "/a?" + "&".join(f"k{number}=1" for number in range(101)),
        "*",
        "localhost:443",
        "ftp://localhost/a",
    ],
    ids=ascii,
)
def test_a_target_that_cannot_be_read_is_refused_and_nothing_of_it_dropped(target: str) -> None:
    with pytest.raises(TargetError):
        read_request("GET", target)


def test_of_a_parameter_given_twice_the_first_counts() -> None:
    """Capture 097."""
    assert read_request("GET", "/a?labelSelector=b&labelSelector=c").parameters == {"labelSelector": "b"}


def test_a_plus_is_a_blank_in_the_query_and_itself_in_the_path() -> None:
    request = read_request("GET", "/a+b?labelSelector=x+in+%28a%2Cb%29&c")
    assert (request.path, request.parameters) == ("/a+b", {"labelSelector": "x in (a,b)", "c": ""})


def test_an_absolute_target_is_read_by_its_path() -> None:
    assert read_request("GET", "https://host:6443/apis?x=1").path == "/apis"
