"""The account on the API: asked for and authorized as the metric is."""

from pathlib import Path

import pytest
from api_fakes import HPA, FakeApiServer
from api_serving import Cluster, serving
from raw_http import PREFIX, get

from adapter.board import Board
from adapter.core.api_requests import AccessAttributes

METRIC = f"{PREFIX}/namespaces/prod/chat-replicas"
LIST = AccessAttributes("list", "", "external.metrics.k8s.io", "v1beta1", "prod", "chat-replicas")
USER = {"X-Remote-User": HPA, "X-Remote-Group": "system:authenticated"}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


async def test_who_may_read_the_metric_may_read_its_account_by_the_same_review(cluster: Cluster, hour: Board) -> None:
    api_server = FakeApiServer(cluster.config_map)
    async with serving(api_server, hour) as running:  # type: ignore[arg-type]  # the real source of metrics
        value = await get(running.port, METRIC, USER, cluster.front_proxy)
        account = await get(running.port, f"{METRIC}?explain=true", USER, cluster.front_proxy)
    assert (account.status, account.json["kind"]) == (200, "Explanation")
    assert account.json["signals"][0]["value"] == value.json["items"][0]["value"] == "5"
    assert [attributes for _, attributes in api_server.reviews] == [LIST]  # one review did for both
    assert account.headers["x-scaleproof-tick"] == "1800000000"


async def test_who_may_not_learns_nothing(cluster: Cluster, hour: Board) -> None:
    user = {"X-Remote-User": "mallory", "X-Remote-Group": "system:authenticated"}
    async with serving(FakeApiServer(cluster.config_map), hour) as running:  # type: ignore[arg-type]
        for metric in (METRIC, f"{PREFIX}/namespaces/prod/nosuch"):
            plain = await get(running.port, metric, user, cluster.front_proxy)
            answer = await get(running.port, f"{metric}?explain=true&history=true", user, cluster.front_proxy)
            assert (answer.status, answer.body) == (403, plain.body)


@pytest.mark.parametrize(
    ("target", "method", "status"),
    [
        pytest.param(f"{METRIC}?explain=true&labelSelector=%3D", "GET", 400, id="no selector"),
        pytest.param(f"{METRIC}?explain=true&watch=true", "GET", 405, id="a watch"),
        pytest.param(f"{METRIC}?explain=true", "POST", 405, id="a POST"),
        pytest.param(f"{PREFIX}/namespaces/other/chat-replicas?explain=true", "GET", 404, id="of another namespace"),
        pytest.param(f"{METRIC}/explain", "GET", 404, id="a path of its own"),
    ],
)
async def test_it_is_a_read_like_any_other(
    cluster: Cluster, hour: Board, target: str, method: str, status: int
) -> None:
    async with serving(FakeApiServer(cluster.config_map), hour) as running:  # type: ignore[arg-type]
        answer = await get(running.port, target, USER, cluster.front_proxy, method)
    assert answer.status == status


async def test_explain_false_is_the_metric(cluster: Cluster, hour: Board) -> None:
    async with serving(FakeApiServer(cluster.config_map), hour) as running:  # type: ignore[arg-type]
        answer = await get(running.port, f"{METRIC}?explain=false", USER, cluster.front_proxy)
    assert answer.json["kind"] == "ExternalMetricValueList"
