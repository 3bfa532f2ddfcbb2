"""The server as a client meets it: answers, bounds, malformed requests and the end."""

import asyncio
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
from api_fakes import HPA, FakeApiServer, FakeMetrics
from api_serving import AS_OF_SECONDS, QUEUE, Cluster, serving
from raw_http import PREFIX, Connection, get

from adapter.core.external_metrics import MetricValue, Reply
from adapter.http_protocol import Limits
from adapter.server import RunningServer, ServerStartError

METRIC = f"{PREFIX}/namespaces/default/queue"
USER = {"X-Remote-User": HPA, "X-Remote-Group": "system:serviceaccounts"}


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    return Cluster(tmp_path)


async def test_a_metric_is_served_with_its_tick_in_a_header_and_nothing_to_retry(cluster: Cluster) -> None:
    """The HorizontalPodAutoscaler's own Accept header: protobuf first, anything else after it."""
    metrics = FakeMetrics(QUEUE, tick_seconds=1_796_068_700.0)
    headers = {**USER, "Accept": "application/vnd.kubernetes.protobuf, */*", "Accept-Encoding": "gzip"}
    async with serving(FakeApiServer(cluster.config_map), metrics) as running:
        answer = await get(running.port, f"{METRIC}?labelSelector=!nosuch", headers, cluster.front_proxy)
        missing = await get(running.port, f"{METRIC}?labelSelector=model%3Da", headers, cluster.front_proxy)
    assert (answer.status, answer.json["items"][0]["value"]) == (200, "100")
    assert answer.headers["x-scaleproof-tick"] == "1796068700"
    assert answer.headers["content-type"] == "application/json"
    assert metrics.asked[0] == ("default", "queue", "!nosuch")
    assert (missing.status, missing.json["reason"]) == (404, "NotFound")
    assert "retry-after" not in {*answer.headers, *missing.headers}


async def test_every_answer_is_counted_by_its_code(cluster: Cluster) -> None:
    codes: list[int] = []
    async with serving(FakeApiServer(cluster.config_map), on_request=codes.append) as running:
        for target in ("/healthz", METRIC, "/%zz", "/apis"):
            await get(running.port, target)
    assert codes == [200, 403, 400, 403]


class BrokenMetrics(FakeMetrics):
    """Has a fault of its own."""

    def reply(self, namespace: str, metric: str, label_selector: str) -> Reply:
        raise ZeroDivisionError("secret")


async def test_a_fault_of_our_own_is_a_status_that_tells_nothing_and_the_server_goes_on(cluster: Cluster) -> None:
    codes: list[int] = []
    async with serving(FakeApiServer(cluster.config_map), BrokenMetrics({}), on_request=codes.append) as running:
        answer = await get(running.port, METRIC, USER, cluster.front_proxy)
        assert (answer.status, answer.json["reason"]) == (500, "InternalError")
        assert b"secret" not in answer.body
        assert (await get(running.port, "/healthz")).status == 200
    assert codes == [500, 200]


@pytest.mark.parametrize("method", ["HEAD", "TRACE", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_a_metric_is_read_by_get_alone(cluster: Cluster, method: str) -> None:
    async with serving(FakeApiServer(cluster.config_map)) as running:
        assert (await get(running.port, METRIC, USER, cluster.front_proxy, method)).status == 405


async def test_what_is_asked_for_in_a_strange_way_is_not_found(cluster: Cluster) -> None:
    targets = [
        f"/{METRIC}",
        f"{PREFIX}/namespaces/default//queue",
        f"{METRIC}//",
        f"{PREFIX}/namespaces/default%2Fqueue/x",
    ]
    targets += [f"{PREFIX}/../v1beta1/namespaces/default/queue", f"{PREFIX}/namespaces/default/./queue"]
    async with serving(FakeApiServer(cluster.config_map, readers=(HPA,))) as running:
        for target in targets:
            answer = await get(
                running.port, target, {"X-Remote-User": "a", "X-Remote-Group": "system:masters"}, cluster.front_proxy
            )
            assert (target, answer.status) == (target, 404)


async def test_a_user_with_250_groups_and_a_selector_of_60_kilobytes_are_served(cluster: Cluster) -> None:
    lines = [
        f"GET {METRIC}?labelSelector=nosuch+notin+%28{'a,' * 30_000}b%29 HTTP/1.1",
        "Host: h",
        f"X-Remote-User: {HPA}",
    ]
    lines += [f"X-Remote-Group: team-{number}" for number in range(250)]
    api_server = FakeApiServer(cluster.config_map)
    async with serving(api_server) as running:
        connection = await Connection.open(running.port, cluster.front_proxy)
        assert (await connection.send("\r\n".join([*lines, "", ""]).encode())).status == 200
        await connection.close()
    assert len(api_server.reviews[0][0].groups) == 251


@pytest.mark.parametrize(
    "data",
    [
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"a" * 70_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: h\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(500)) + b"\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ],
    ids=lambda data: ascii(data[:40]),
)
async def test_malformed_http_gets_a_status_or_a_closed_connection_and_harms_nobody(
    cluster: Cluster, data: bytes
) -> None:
    async with serving(FakeApiServer(cluster.config_map)) as running:
        connection = await Connection.open(running.port)
        try:
            answer = await connection.send(data)
            assert (answer.status, answer.json["kind"], answer.json["reason"]) == (400, "Status", "BadRequest")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        await connection.close()
        assert (await get(running.port, "/healthz")).body == b"ok"


async def test_readiness_tells_why_not(cluster: Cluster) -> None:
    reasons = ["starting"]
    async with serving(FakeApiServer(cluster.config_map), readiness=lambda: reasons) as running:
        answer = await get(running.port, "/readyz")
        assert (answer.status, answer.body) == (
            503,
            b"[+]ping ok\n[+]shutdown ok\n[+]client-ca ok\n[-]signals failed: starting\nreadyz check failed\n",
        )
        assert (await get(running.port, "/livez")).status == 200
        assert (await get(running.port, "/readyz/ping")).status == 200
        assert (await get(running.port, "/readyz/signals")).status == 503
        reasons.clear()
        assert (await get(running.port, "/readyz")).body == b"ok"


async def test_it_starts_without_the_api_server_and_is_ready_once_it_knows_whom_to_trust(cluster: Cluster) -> None:
    api_server = FakeApiServer(cluster.config_map)
    api_server.is_down = True
    async with serving(api_server, reload_seconds=0.02) as running:
        assert b"[-]client-ca failed" in (await get(running.port, "/readyz")).body
        api_server.is_down = False
        await asyncio.sleep(0.2)
        assert (await get(running.port, "/readyz")).status == 200
        assert (await get(running.port, METRIC, USER, cluster.front_proxy)).status == 200
        api_server.is_down = True
        await asyncio.sleep(0.1)
        assert (await get(running.port, "/readyz")).status == 200


async def test_documents_that_have_not_changed_are_not_sent_again(cluster: Cluster) -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    async with serving(FakeApiServer(cluster.config_map)) as running:
        for target in ("/apis", "/openapi/v2", PREFIX):
            headers = {**USER, "Accept": accept}
            first = await get(running.port, target, headers, cluster.front_proxy)
            again = await get(
                running.port, target, {**headers, "If-None-Match": first.headers["etag"]}, cluster.front_proxy
            )
            assert (first.status, again.status, again.body) == (200, 304, b"")
        aggregated = await get(running.port, "/apis", {**USER, "Accept": accept}, cluster.front_proxy)
        assert aggregated.headers["content-type"] == accept
        assert aggregated.json["items"][0]["versions"][0]["resources"]


async def test_the_openapi_documents_lead_to_each_other_and_name_the_metric_request(cluster: Cluster) -> None:
    path = f"{PREFIX}/namespaces/{{namespace}}/{{metric}}"
    async with serving(FakeApiServer(cluster.config_map)) as running:
        index = (await get(running.port, "/openapi/v3", USER, cluster.front_proxy)).json
        location = index["paths"]["apis/external.metrics.k8s.io/v1beta1"]["serverRelativeURL"]
        v3 = (await get(running.port, location, USER, cluster.front_proxy)).json
        moved = await get(running.port, location.split("?")[0] + "?hash=OLD", USER, cluster.front_proxy)
        v2 = (await get(running.port, "/openapi/v2", USER, cluster.front_proxy)).json
    assert (v3["openapi"], list(v3["paths"])) == ("3.0.0", [path])
    assert (v2["swagger"], list(v2["paths"])) == ("2.0", [path])
    assert (moved.status, moved.headers["location"]) == (301, location)


async def test_people_get_indented_answers_and_large_ones_are_compressed(cluster: Cluster) -> None:
    many = [MetricValue("many", {"pod": f"llm-{number:05}"}, AS_OF_SECONDS, "1") for number in range(2000)]
    metrics = FakeMetrics({**QUEUE, ("default", "many"): many})
    many_path = f"{PREFIX}/namespaces/default/many"
    async with serving(FakeApiServer(cluster.config_map), metrics) as running:
        curl = await get(running.port, METRIC, {**USER, "User-Agent": "curl/8.0"}, cluster.front_proxy)
        asked = await get(running.port, f"{METRIC}?pretty=true", USER, cluster.front_proxy)
        plain = await get(running.port, many_path, {**USER, "Accept-Encoding": "gzip;q=0"}, cluster.front_proxy)
        packed = await get(running.port, many_path, {**USER, "Accept-Encoding": "deflate, gzip"}, cluster.front_proxy)
    assert curl.body == asked.body
    assert curl.body.startswith(b'{\n  "kind": "ExternalMetricValueList"')
    assert (packed.headers["content-encoding"], gzip.decompress(packed.body)) == ("gzip", plain.body)
    assert len(json.loads(plain.body)["items"]) == 2000
    assert len(packed.body) < len(plain.body) / 10


class NeverAnswers(FakeApiServer):
    """Takes reviews and gives no answer until it is let go."""

    def __init__(self, config_map: dict[str, str]) -> None:
        super().__init__(config_map)
        self.may_answer = asyncio.Event()
        self.is_asked = asyncio.Event()

    async def review_access(self, identity, attributes) -> bool:
        self.is_asked.set()
        await self.may_answer.wait()
        return True


async def test_requests_in_flight_are_bounded_and_health_is_answered_all_the_same(cluster: Cluster) -> None:
    api_server = NeverAnswers(cluster.config_map)
    async with serving(api_server, limits=Limits(in_flight=3)) as running:
        waiting = [asyncio.create_task(get(running.port, METRIC)) for _ in range(3)]
        await api_server.is_asked.wait()
        await asyncio.sleep(0.2)
        refused = await get(running.port, METRIC)
        assert (refused.status, refused.json["reason"]) == (429, "TooManyRequests")
        assert "retry-after" not in refused.headers
        assert (await get(running.port, "/readyz")).status == 200
        api_server.may_answer.set()
        assert [answer.status for answer in await asyncio.gather(*waiting)] == [200] * 3


async def test_connections_are_bounded_and_the_one_idle_longest_makes_room(cluster: Cluster) -> None:
    """Whoever opens many connections and says nothing locks nobody out."""
    async with serving(FakeApiServer(cluster.config_map), limits=Limits(connections=5)) as running:
        kept = [await Connection.open(running.port) for _ in range(5)]
        for connection in (*kept, kept[0]):
            assert (await connection.get("/healthz")).status == 200
        newest = await Connection.open(running.port)
        assert (await newest.get("/healthz")).status == 200
        assert await kept[1].reader.read() == b""
        for connection in (kept[0], kept[2], kept[3], kept[4]):
            assert (await connection.get("/healthz")).status == 200
        for connection in (*kept, newest):
            await connection.close()


async def test_draining_loses_no_request_and_tells_clients_to_go(cluster: Cluster) -> None:
    """The story of SIGTERM: not ready at once, still serving, then finishing what is under way, then gone."""
    api_server = NeverAnswers(cluster.config_map)
    async with serving(api_server) as running:
        idle = await Connection.open(running.port)
        assert (await idle.get("/healthz")).status == 200
        under_way = asyncio.create_task(get(running.port, METRIC))
        await api_server.is_asked.wait()
        draining = asyncio.create_task(running.drain(notice_seconds=0.3))
        await asyncio.sleep(0.05)
        not_ready = await idle.get("/readyz")
        assert (not_ready.status, not_ready.headers["connection"]) == (503, "close")
        assert b"[-]shutdown failed: shutting down" in not_ready.body
        assert (await get(running.port, "/livez")).status == 200
        await asyncio.sleep(0.5)
        with pytest.raises(ConnectionError):
            await get(running.port, "/livez")
        assert not draining.done()
        api_server.may_answer.set()
        assert (await under_way).status == 200
        await draining
        await idle.close()


def test_the_kubernetes_library_is_not_imported_before_it_is_needed() -> None:
    """It costs half a second and 55 MiB, which a demo on loopback need not pay."""
    code = "import sys, adapter.server; sys.exit('kubernetes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_a_port_that_is_taken_is_an_error_that_says_so(cluster: Cluster) -> None:
    async with serving(FakeApiServer(cluster.config_map)) as running:
        with pytest.raises(ServerStartError, match="cannot listen"):
            async with serving(FakeApiServer(cluster.config_map), flags={"secure_port": running.port}):
                pass


async def test_a_way_to_the_api_server_that_is_none_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match="give --kubeconfig FILE"):
        async with serving(None, flags={"kubeconfig": str(tmp_path / "nosuch")}):
            pass


async def test_the_url_is_where_it_listens(cluster: Cluster) -> None:
    async with serving(FakeApiServer(cluster.config_map)) as running:
        assert isinstance(running, RunningServer)
        assert running.url == f"https://127.0.0.1:{running.port}"


async def test_always_allow_on_loopback_needs_neither_api_server_nor_certificates(tmp_path: Path) -> None:
    async with serving(None, flags={"authorization_mode": "AlwaysAllow"}) as running:
        assert (await get(running.port, METRIC)).status == 200
        assert (await get(running.port, METRIC, {"Authorization": "Bearer x"})).status == 200
        assert (await get(running.port, "/readyz")).status == 200


async def test_front_proxy_identities_by_flags_need_no_api_server(cluster: Cluster) -> None:
    flags = {
        "authorization_mode": "AlwaysAllow",
        "requestheader_client_ca_file": cluster.front_proxy_ca.write(cluster.folder, "proxy-ca"),
        "requestheader_allowed_names": "front-proxy-client",
    }
    async with serving(None, flags=flags) as running:
        assert (await get(running.port, METRIC, USER, cluster.front_proxy)).status == 200
        other = cluster.context(cluster.front_proxy_ca, "another")
        assert (await get(running.port, METRIC, USER, other)).status == 401
        assert (await get(running.port, METRIC)).status == 200
