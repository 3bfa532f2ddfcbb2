"""When the API server is asked for policies at all, and how the calls look on the wire."""

import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from policy_world import LIBRARY
from pydantic import ValidationError
from scaling_policy import item

from adapter.core.policy_status import Shown
from adapter.kube import ApiServerConfigurationError, connect_to_policies
from adapter.kube_policies import PolicyApi
from adapter.kube_resources import Resource
from adapter.reviews import ReviewUnavailableError
from adapter.scaling_policies import IN_A_POD, ScalingPolicies, is_wanted
from adapter.settings import Settings
from adapter.telemetry import Telemetry

PROMETHEUS = "http://127.0.0.1:9"


def settings(**more: Any) -> Settings:
    return Settings(**{"policies": Path("p"), "prometheus": PROMETHEUS, **more})


def test_by_itself_the_api_server_is_asked_where_there_is_a_way_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(IN_A_POD, raising=False)
    assert not is_wanted(settings())
    assert is_wanted(settings(kubeconfig=Path("k")))
    assert not is_wanted(settings(kubeconfig=Path("k"), scaling_policies="false"))
    monkeypatch.setenv(IN_A_POD, "10.0.0.1")
    assert is_wanted(settings())


def test_a_folder_may_be_left_out_only_where_objects_are_demanded() -> None:
    assert settings(policies=None, scaling_policies="true").policies is None
    for mode in ("auto", "false"):
        with pytest.raises(ValidationError):
            settings(policies=None, scaling_policies=mode)


async def start(**more: Any) -> ScalingPolicies:
    made = ScalingPolicies(LIBRARY, Telemetry(), lambda: None)
    await made.start(settings(**more), lambda loaded: Shown(None))
    return made


async def test_without_a_way_a_process_that_has_files_starts_and_is_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(IN_A_POD, "10.0.0.1")  # a Pod whose service account is not mounted
    made = await start()
    assert made.not_ready(has_files=True) == []
    await made.close()
    with pytest.raises(ApiServerConfigurationError):
        await start(scaling_policies="true")


async def test_a_process_that_has_no_files_is_ready_when_it_has_seen_the_objects() -> None:
    made = ScalingPolicies(LIBRARY, Telemetry(), lambda: None)
    assert made.not_ready(has_files=True) != []
    made.objects.failed(ConnectionRefusedError())
    assert made.not_ready(has_files=True) == []
    assert made.not_ready(has_files=False) != []
    made.objects.listed([])
    assert made.not_ready(has_files=False) == []


class FakeServer:
    """Answers by what is asked, and writes it down."""

    def __init__(self, status: int = 200, pages: int = 1) -> None:
        self.status, self.pages = status, pages
        self.seen: list[tuple[str, str, dict[str, str], str, Any]] = []

    async def answer(self, request: web.BaseRequest) -> web.Response:
        body = await request.text()
        kind = request.headers.get("Content-Type", "")
        self.seen.append((request.method, request.path, dict(request.query), kind, json.loads(body or "null")))
        page = len(self.seen)
        metadata = {"resourceVersion": "9", "continue": f"page-{page}" if page < self.pages else ""}
        found = {"metadata": metadata, "items": [item(f"p{page}")]}
        return web.json_response(found, status=self.status)

    async def api(self, folder: Path) -> tuple[TestServer, PolicyApi]:
        application = web.Application()
        application.router.add_route("*", "/{path:.*}", self.answer)
        server = TestServer(application)
        await server.start_server()
        cluster = {"server": str(server.make_url("/"))}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "c",
            "clusters": [{"name": "c", "cluster": cluster}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        }
        (folder / "kubeconfig").write_text(json.dumps(document))
        return server, await connect_to_policies(folder / "kubeconfig")


async def test_a_status_is_applied_under_one_name_and_for_one_object_only(tmp_path: Path) -> None:
    fake = FakeServer()
    server, api = await fake.api(tmp_path)
    await api.write_status("prod", "a", "u-1", {"value": "7"})
    ((method, path, query, kind, body),) = fake.seen
    assert (method, kind) == ("PATCH", "application/apply-patch+yaml")
    assert path == "/apis/scaleproof.dev/v1alpha1/namespaces/prod/scalingpolicies/a/status"
    assert query == {"fieldManager": "scaleproof", "force": "true"}
    assert body == {
        "apiVersion": "scaleproof.dev/v1alpha1",
        "kind": "ScalingPolicy",
        "metadata": {"name": "a", "namespace": "prod", "uid": "u-1"},
        "status": {"value": "7"},
    }
    await api.close()
    await server.close()


@pytest.mark.parametrize("status", [403, 404, 409, 500])
async def test_a_write_that_is_refused_tells_the_status(tmp_path: Path, status: int) -> None:
    fake = FakeServer(status)
    server, api = await fake.api(tmp_path)
    with pytest.raises(ReviewUnavailableError) as refused:
        await api.write_status("prod", "a", "u-1", {})
    assert refused.value.status == status
    await api.close()
    await server.close()


async def test_a_long_list_is_read_in_pages(tmp_path: Path) -> None:
    fake = FakeServer(pages=3)
    server, api = await fake.api(tmp_path)
    version, items = await Resource(api._calls, "/apis/x", {"fieldSelector": "f"}).list()  # type: ignore[attr-defined]
    assert (version, [one["metadata"]["name"] for one in items]) == ("9", ["p1", "p2", "p3"])
    assert [query for _, _, query, _, _ in fake.seen] == [
        {"fieldSelector": "f", "limit": "500"},
        {"fieldSelector": "f", "limit": "500", "continue": "page-1"},
        {"fieldSelector": "f", "limit": "500", "continue": "page-2"},
    ]
    await api.close()
    await server.close()
