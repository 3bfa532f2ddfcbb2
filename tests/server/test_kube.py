"""The API server as the library really talks to it: against a plain HTTP server that says what a cluster would."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web

from adapter import kube
from adapter.core.api_requests import AccessAttributes
from adapter.kube import ApiServer, ApiServerConfigurationError, connect
from adapter.reviews import Identity, ReviewUnavailableError

ALICE = Identity("alice", ("team",), "7", (("scopes", ("s", "t")),))


@asynccontextmanager
async def api_server(folder: Path, status: int, body: object, seen: list | None = None) -> AsyncIterator[ApiServer]:
    """A client of a server that answers everything alike and writes down what it was asked."""

    async def answer(request: web.BaseRequest) -> web.Response:
        if seen is not None:
            seen.append((request.method, request.path, json.loads(await request.text() or "null")))
        if status == 0:
            await asyncio.sleep(60)
        text = body if isinstance(body, str) else json.dumps(body)
        return web.Response(status=status, text=text, content_type="application/json")

    server = web.Server(answer)
    listener = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    client = await connect(kubeconfig(folder, f"http://127.0.0.1:{port}"))
    try:
        yield client
    finally:
        await client.close()
        listener.close()
        await server.shutdown(0.1)


def kubeconfig(folder: Path, url: str) -> Path:
    file = folder / "kubeconfig"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    file.write_text(json.dumps(document))
    return file


def token_review(status: dict) -> dict:
    return {"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {"token": "x"}, "status": status}


def access_review(status: dict) -> dict:
    return {"kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {}, "status": status}


async def test_a_token_is_sent_and_its_user_read(tmp_path: Path) -> None:
    user = {"username": "alice", "groups": ["team"], "uid": "7", "extra": {"scopes": ["s", "t"]}}
    seen: list = []
    async with api_server(tmp_path, 201, token_review({"authenticated": True, "user": user}), seen) as client:
        assert await client.review_token("x") == ALICE
    (method, path, body), *_ = seen
    assert (method, path, body["spec"]) == ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", {"token": "x"})


@pytest.mark.parametrize(
    "status", [{}, {"authenticated": False}, {"authenticated": True}, {"authenticated": True, "user": {}}], ids=str
)
async def test_a_token_without_a_user_is_nobodys(tmp_path: Path, status: dict) -> None:
    async with api_server(tmp_path, 201, token_review(status)) as client:
        assert await client.review_token("x") is None


async def test_a_review_of_a_resource_names_everything_about_it(tmp_path: Path) -> None:
    seen: list = []
    attributes = AccessAttributes("list", "", "external.metrics.k8s.io", "v1beta1", "default", "queue")
    async with api_server(tmp_path, 201, access_review({"allowed": True}), seen) as client:
        assert await client.review_access(ALICE, attributes)
    spec = seen[0][2]["spec"]
    assert seen[0][1] == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert (spec["user"], spec["groups"], spec["uid"], spec["extra"]) == (
        "alice",
        ["team"],
        "7",
        {"scopes": ["s", "t"]},
    )
    asked = {key: value for key, value in spec["resourceAttributes"].items() if value}
    assert asked == {
        "verb": "list",
        "group": "external.metrics.k8s.io",
        "version": "v1beta1",
        "namespace": "default",
        "resource": "queue",
    }
    assert "nonResourceAttributes" not in spec


async def test_a_review_of_a_path_names_the_path(tmp_path: Path) -> None:
    seen: list = []
    async with api_server(tmp_path, 201, access_review({"allowed": False}), seen) as client:
        assert not await client.review_access(Identity("bob"), AccessAttributes("get", path="/metrics"))
    spec = seen[0][2]["spec"]
    assert spec["nonResourceAttributes"] == {"path": "/metrics", "verb": "get"}
    assert "resourceAttributes" not in spec


@pytest.mark.parametrize("status", [{"allowed": False}, {"allowed": True, "denied": True}], ids=str)
async def test_only_a_plain_yes_is_a_yes(tmp_path: Path, status: dict) -> None:
    async with api_server(tmp_path, 201, access_review(status)) as client:
        assert not await client.review_access(ALICE, AccessAttributes("get", path="/"))


async def test_the_authentication_config_is_read_from_its_config_map(tmp_path: Path) -> None:
    seen: list = []
    body = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"client-ca-file": "PEM"}}
    async with api_server(tmp_path, 200, body, seen) as client:
        assert await client.read_authentication_config() == {"client-ca-file": "PEM"}
    assert seen[0][1] == "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (500, {"kind": "Status"}),
        (403, {"kind": "Status"}),
        (201, "no json"),
        (201, "[]"),
        (201, {"status": {"allowed": "yes?"}}),
        (302, ""),
    ],
    ids=["500", "403", "no JSON", "a list", "another shape", "redirect"],
)
async def test_anything_but_an_answer_is_no_answer(tmp_path: Path, status: int, body: object) -> None:
    async with api_server(tmp_path, status, body) as client:
        with pytest.raises(ReviewUnavailableError):
            await client.review_access(ALICE, AccessAttributes("get", path="/"))


async def test_a_server_that_is_gone_or_hangs_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await connect(kubeconfig(tmp_path, "http://127.0.0.1:9"))
    with pytest.raises(ReviewUnavailableError):
        await client.read_authentication_config()
    await client.close()
    monkeypatch.setattr(kube, "CALL_SECONDS", 0.1)
    async with api_server(tmp_path, 0, "") as hanging:
        with pytest.raises(ReviewUnavailableError, match="TimeoutError"):
            await hanging.review_token("x")


@pytest.mark.parametrize("text", ["", "[]", "{", "a: b", "apiVersion: v1\nkind: Config\n"], ids=ascii)
async def test_a_broken_kubeconfig_is_an_error_that_says_what_to_do(tmp_path: Path, text: str) -> None:
    (tmp_path / "kubeconfig").write_text(text)
    with pytest.raises(ApiServerConfigurationError, match="give --kubeconfig FILE"):
        await connect(tmp_path / "kubeconfig")


async def test_without_kubeconfig_and_outside_a_pod_there_is_no_way() -> None:
    with pytest.raises(ApiServerConfigurationError, match="service account"):
        await connect(None)
