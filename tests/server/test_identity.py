"""Who somebody is, settled over real TLS with real certificates: only the proper front proxy speaks for others."""

import asyncio
import ssl
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from api_fakes import HPA, FakeApiServer
from api_serving import Cluster, authentication_config, serving
from certificates import SERVER, Authority
from raw_http import PREFIX, Connection, client_context, get
from saved_session import get_on_saved_session

from adapter.certificates import ClientTrust, PeerVerifier
from adapter.reviews import MASTERS, Identity

QUEUE = f"{PREFIX}/namespaces/default/queue"
FORGED = {"X-Remote-User": HPA, "X-Remote-Group": MASTERS}
REFUSED_BY_TLS = 0


async def status(port: int, context: ssl.SSLContext | None, headers: dict[str, str] | None = None) -> int:
    try:
        return (await get(port, QUEUE, headers, context)).status
    except (ssl.SSLError, ConnectionError, asyncio.IncompleteReadError):
        return REFUSED_BY_TLS


def expired(cluster: Cluster) -> ssl.SSLContext:
    pair = cluster.front_proxy_ca.issue("front-proxy-client", lifetime=timedelta(minutes=-5))
    return client_context(pair.write(cluster.folder, "expired"))


def for_servers(cluster: Cluster) -> ssl.SSLContext:
    return client_context(cluster.front_proxy_ca.issue("front-proxy-client", usage=SERVER).write(cluster.folder, "s"))


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        pytest.param(lambda c: None, 403, id="no certificate: anonymous, who may not"),
        pytest.param(lambda c: c.front_proxy, 200, id="the front proxy"),
        pytest.param(lambda c: c.context(c.front_proxy_ca, "another"), 401, id="front-proxy CA, name not allowed"),
        pytest.param(lambda c: c.context(c.front_proxy_ca, ""), 401, id="front-proxy CA, no name"),
        pytest.param(lambda c: c.context(c.cluster_ca, "front-proxy-client"), 403, id="cluster CA, the proxy's name"),
        pytest.param(lambda c: c.context(c.cluster_ca, HPA), 200, id="cluster CA, a user who may"),
        pytest.param(
            lambda c: c.context(c.cluster_ca, "front-proxy-client", ("front-proxy-ca",)),
            403,
            id="cluster CA, in disguise",
        ),
        pytest.param(
            lambda c: c.context(Authority("front-proxy-ca"), "front-proxy-client"), REFUSED_BY_TLS, id="namesake CA"
        ),
        pytest.param(expired, REFUSED_BY_TLS, id="expired"),
        pytest.param(for_servers, REFUSED_BY_TLS, id="for servers only"),
    ],
)
async def test_forged_headers_get_a_value_for_the_front_proxy_only(
    tmp_path: Path, context: Callable[[Cluster], ssl.SSLContext | None], expected: int
) -> None:
    cluster = Cluster(tmp_path)
    async with serving(FakeApiServer(cluster.config_map)) as running:
        assert await status(running.port, context(cluster), FORGED) == expected


async def test_headers_mean_nothing_beside_a_certificate_of_the_cluster_ca(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    api_server = FakeApiServer(cluster.config_map, readers=("alice",))
    async with serving(api_server) as running:
        assert await status(running.port, cluster.context(cluster.cluster_ca, "alice", ("team",)), FORGED) == 200
    assert api_server.reviews[0][0] == Identity("alice", ("team", "system:authenticated"))


@pytest.mark.parametrize("headers", [{}, {"X-Remote-User": ""}, {"X-Remote-Group": MASTERS}], ids=str)
async def test_the_front_proxy_has_to_name_somebody(tmp_path: Path, headers: dict[str, str]) -> None:
    cluster = Cluster(tmp_path)
    async with serving(FakeApiServer(cluster.config_map)) as running:
        assert await status(running.port, cluster.front_proxy, headers) == 401


async def test_everything_the_front_proxy_tells_reaches_the_review(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    api_server = FakeApiServer(cluster.config_map, readers=("alice",))
    async with serving(api_server) as running:
        connection = await Connection.open(running.port, cluster.front_proxy)
        lines = [
            f"GET {QUEUE} HTTP/1.1",
            "Host: h",
            "x-remote-user: alice",
            "X-Remote-Group: a",
            "X-REMOTE-GROUP: b",
            "X-Remote-Uid: 7",
            "X-Remote-Extra-Authentication.kubernetes.io%2fcredential-Id: JTI=1",
            "X-Remote-Extra-Scopes: s",
            "X-Remote-Extra-Scopes: t",
        ]
        assert (await connection.send("\r\n".join([*lines, "", ""]).encode())).status == 200
        await connection.close()
    extra = (("authentication.kubernetes.io/credential-id", ("JTI=1",)), ("scopes", ("s", "t")))
    assert api_server.reviews[0][0] == Identity("alice", ("a", "b", "system:authenticated"), "7", extra)


async def test_a_user_whom_the_proxy_calls_anonymous_is_not_made_authenticated(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    api_server = FakeApiServer(cluster.config_map)
    async with serving(api_server) as running:
        headers = {"X-Remote-User": "system:anonymous", "X-Remote-Group": "system:unauthenticated"}
        assert await status(running.port, cluster.front_proxy, headers) == 403
    assert api_server.reviews[0][0].groups == ("system:unauthenticated",)


@pytest.mark.parametrize(
    ("authorization", "expected"),
    [
        ("Bearer good", 200),
        ("bearer  good ", 200),
        ("Bearer bad", 401),
        ("Bearer ", 403),
        ("Basic YTpi", 403),
        ("Bearer gööd", 401),
    ],
)
async def test_a_bearer_token_is_reviewed(tmp_path: Path, authorization: str, expected: int) -> None:
    api_server = FakeApiServer(Cluster(tmp_path).config_map)
    api_server.tokens["good"] = Identity(HPA, ("system:serviceaccounts",))
    async with serving(api_server) as running:
        assert await status(running.port, None, {"Authorization": authorization}) == expected


async def test_a_token_is_reviewed_once_in_ten_seconds_whether_good_or_bad(tmp_path: Path) -> None:
    api_server = FakeApiServer(Cluster(tmp_path).config_map)
    api_server.tokens["good"] = Identity(HPA)
    now = [0.0]
    async with serving(api_server, monotonic=lambda: now[0]) as running:
        for instant, reviews_until_then in ((0.0, 2), (9.9, 2), (10.0, 4)):
            now[0] = instant
            for token, expected in (("good", 200), ("bad", 401)) * 3:
                assert await status(running.port, None, {"Authorization": f"Bearer {token}"}) == expected
            assert api_server.token_reviews == reviews_until_then


async def test_an_open_connection_loses_its_identity_when_its_ca_is_no_longer_trusted(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    api_server = FakeApiServer(cluster.config_map)
    async with serving(api_server, reload_seconds=0.02) as running:
        old_proxy = cluster.front_proxy
        connection = await Connection.open(running.port, old_proxy)
        assert (await connection.get(QUEUE, {"X-Remote-User": HPA})).status == 200
        new_ca = Authority("front-proxy-ca")
        api_server.config_map = authentication_config(cluster.cluster_ca.pem, new_ca.pem)
        await asyncio.sleep(0.2)  # ten looks at the ConfigMap
        assert (await connection.get(QUEUE, {"X-Remote-User": HPA})).status == 401
        await connection.close()
        assert await status(running.port, old_proxy, {"X-Remote-User": HPA}) == REFUSED_BY_TLS
        new_proxy = cluster.context(new_ca, "front-proxy-client")
        assert await status(running.port, new_proxy, {"X-Remote-User": HPA}) == 200


@pytest.mark.parametrize("tls", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3], ids=["TLS 1.2", "TLS 1.3"])
async def test_a_resumed_session_does_not_bring_back_an_identity(tmp_path: Path, tls: ssl.TLSVersion) -> None:
    cluster = Cluster(tmp_path)
    api_server = FakeApiServer(cluster.config_map)
    context = cluster.front_proxy
    context.maximum_version = tls
    request = f"GET {QUEUE} HTTP/1.1\r\nHost: h\r\nX-Remote-User: {HPA}\r\n\r\n".encode()
    async with serving(api_server, reload_seconds=0.02) as running:
        first, session, _ = await asyncio.to_thread(get_on_saved_session, running.port, context, request, None)
        again, _, was_resumed = await asyncio.to_thread(get_on_saved_session, running.port, context, request, session)
        assert (first, again) == (b"200", b"200")
        api_server.config_map = authentication_config(cluster.cluster_ca.pem, Authority("new").pem)
        await asyncio.sleep(0.2)
        assert was_resumed
        after, _, is_resumed = await asyncio.to_thread(get_on_saved_session, running.port, context, request, session)
        assert (after, is_resumed) == (b"401", True)


def test_a_certificate_that_expires_while_its_connection_is_open_proves_nothing_any_more() -> None:
    authority = Authority("front-proxy-ca")
    der = authority.issue("front-proxy-client", lifetime=timedelta(hours=1)).der
    now = [datetime.now(UTC)]
    peers = PeerVerifier(lambda: now[0])
    trust = ClientTrust(1, request_header_ca=authority.pem, allowed_names=("front-proxy-client",))
    peer = peers.peer(der, trust)
    assert peer is not None
    assert peer.is_front_proxy
    now[0] += timedelta(hours=2)
    assert peers.peer(der, trust) is None


def test_with_no_allowed_names_any_certificate_of_the_request_header_ca_is_the_front_proxy() -> None:
    authority, other = Authority("front-proxy-ca"), Authority("kubernetes")
    trust = ClientTrust(1, client_ca=other.pem, request_header_ca=authority.pem)
    anybody, user = (
        PeerVerifier().peer(authority.issue("x").der, trust),
        PeerVerifier().peer(other.issue("x").der, trust),
    )
    assert anybody is not None
    assert (anybody.is_front_proxy, anybody.is_client) == (True, False)
    assert user is not None
    assert (user.is_front_proxy, user.is_client) == (False, True)


def test_the_rsa_certificates_that_kubeadm_makes_by_default_are_verified() -> None:
    authority = Authority("front-proxy-ca", is_rsa=True)
    trust = ClientTrust(
        1, request_header_ca=Authority("old").pem + authority.pem, allowed_names=("front-proxy-client",)
    )
    peer = PeerVerifier().peer(authority.issue("front-proxy-client").der, trust)
    assert peer is not None
    assert peer.is_front_proxy


def test_a_certificate_signed_by_a_certificate_that_is_no_authority_proves_nothing() -> None:
    """Somebody adds the proxy's own certificate to the bundle of CAs; its holder must not issue others by that."""
    authority = Authority("front-proxy-ca")
    signed = authority.issue("front-proxy-client")
    issuer = Authority("front-proxy-client", key=signed.key)
    forged = issuer.issue("front-proxy-client").der
    trust = ClientTrust(1, request_header_ca=authority.pem + signed.certificate)
    assert PeerVerifier().peer(forged, ClientTrust(1, request_header_ca=issuer.pem)) is not None
    assert PeerVerifier().peer(forged, trust) is None


def test_what_is_no_certificate_proves_nothing() -> None:
    trust = ClientTrust(1, request_header_ca=Authority("front-proxy-ca").pem)
    assert PeerVerifier().peer(b"no certificate", trust) is None


async def test_impersonation_is_refused_rather_than_ignored(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    async with serving(FakeApiServer(cluster.config_map)) as running:
        headers = {"X-Remote-User": HPA, "Impersonate-User": "bob"}
        assert await status(running.port, cluster.front_proxy, headers) == 403
