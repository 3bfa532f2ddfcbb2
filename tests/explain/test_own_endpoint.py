"""The metrics address: who gets accounts there, and a page that nothing from Prometheus can run in."""

import base64
import hashlib
import re
from collections.abc import Mapping
from typing import Literal

import aiohttp
import pytest
from explained_hour import HOSTILE

from adapter.board import Board
from adapter.explain_page import PARTS, explain_page
from adapter.loopback import is_from_loopback
from adapter.own_endpoint import OwnEndpoint
from adapter.settings import SettingsError, load_settings

GIVEN = {"policies": "policies", "prometheus": "http://prometheus:9090"}


async def statuses(hour: Board, shown_to: Literal["auto", "on", "off"], headers: Mapping[str, str]) -> dict[str, int]:
    endpoint = OwnEndpoint(lambda: b"scaleproof_up 1\n", hour, shown_to)
    port = await endpoint.start("127.0.0.1", 0)
    try:
        async with aiohttp.ClientSession(headers=headers) as session:
            found = {}
            for path in ("/metrics", "/explain?summary=true", "/"):
                async with session.get(f"http://127.0.0.1:{port}{path}") as answer:
                    found[path.partition("?")[0]] = answer.status
                    if answer.status >= 400:
                        assert "prod" not in await answer.text()
            return found
    finally:
        await endpoint.close()


@pytest.mark.parametrize(
    ("shown_to", "headers", "status"),
    [
        pytest.param("auto", {}, 200, id="a port-forward"),
        pytest.param("auto", {"Host": "10.0.0.7:8080"}, 403, id="through a proxy that keeps the name asked for"),
        pytest.param("auto", {"X-Forwarded-For": "10.0.0.9"}, 403, id="through a proxy that says so"),
        pytest.param("auto", {"Host": "rebound.example:8080"}, 403, id="a web site's name that points here"),
        pytest.param("on", {"Host": "10.0.0.7:8080"}, 200, id="on"),
        pytest.param("off", {}, 404, id="off"),
    ],
)
async def test_accounts_go_to_loopback_alone_unless_told_otherwise_and_metrics_to_everybody(
    hour: Board, shown_to: Literal["auto", "on", "off"], headers: dict[str, str], status: int
) -> None:
    assert await statuses(hour, shown_to, headers) == {"/metrics": 200, "/explain": status, "/": status}


@pytest.mark.parametrize(
    ("peer", "host", "more", "is_meant"),
    [
        ("127.0.0.1", "127.0.0.1:8080", {}, True),
        ("127.0.0.1", "localhost:8080", {}, True),
        ("::1", "[::1]:8080", {}, True),
        ("::ffff:127.0.0.1", "localhost", {}, True),
        ("10.0.0.9", "localhost:8080", {}, False),
        (None, "localhost:8080", {}, False),
        ("127.0.0.6", "scaleproof.scaleproof-system:8080", {}, False),
        ("127.0.0.1", "", {}, False),
        ("127.0.0.1", "127.0.0.1.example:8080", {}, False),
        ("127.0.0.1", "localhost", {"X-Envoy-Peer-Metadata": "x"}, False),
        ("127.0.0.1", "localhost", {"Forwarded": "for=10.0.0.9"}, False),
        ("127.0.0.1", "localhost", {"x-request-id": "1"}, False),
        ("127.0.0.1", "localhost", {"l5d-client-id": "x"}, False),
        ("127.0.0.1", "localhost", {"Accept": "*/*", "User-Agent": "curl/8"}, True),
    ],
)
def test_loopback_is_where_somebody_on_loopback_asks_for_loopback(
    peer: str | None, host: str, more: dict[str, str], is_meant: bool
) -> None:
    assert is_from_loopback(peer, {"Host": host, **more}) is is_meant


def test_the_setting_is_one_of_three_words() -> None:
    assert load_settings(GIVEN, {}).explain_page == "auto"
    assert load_settings(GIVEN, {"SCALEPROOF_EXPLAIN_PAGE": "off"}).explain_page == "off"
    with pytest.raises(SettingsError, match=r"--explain-page: 'maybe' cannot be used .*allowed: auto, on or off"):
        load_settings({**GIVEN, "explain_page": "maybe"}, {})


async def test_the_page_may_run_its_own_script_and_nothing_else(url: str) -> None:
    async with aiohttp.ClientSession() as session, session.get(f"{url}/") as answer:
        text, policy = await answer.text(), answer.headers["Content-Security-Policy"]
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    for kind, part in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in policy
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "no-store"


def test_the_page_asks_no_other_host_and_makes_no_html_from_text() -> None:
    text = explain_page().body.decode()
    assert set(re.findall(r"https?://[^\s\"')]+", text)) <= {"http://www.w3.org/2000/svg"}
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "DOMParser", " onload="):
        assert word not in text
    assert {path.name for path in PARTS.iterdir()} == {
        "account.js",
        "colours.css",
        "explain.css",
        "explain.html",
        "explain.js",
        "plot.js",
    }


async def test_what_cannot_be_read_is_a_400_in_words(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{url}/explain?labelSelector=%3D") as answer:
            assert answer.status == 400
        async with session.get(f"{url}/explain?history=true") as answer:
            assert (answer.status, await answer.text()) == (
                400,
                "32 signals, at most 20 with their history at once: select some by labelSelector\n",
            )


async def test_a_list_is_short_and_an_account_is_json_whatever_prometheus_said(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        async with session.get(f"{url}/explain?summary=true") as answer:
            signals = (await answer.json())["signals"]
        async with session.get(f"{url}/explain?policy=refused") as answer:
            assert answer.content_type == "application/json"
            assert "<" not in (raw := await answer.text())
            (refused,) = (await answer.json())["signals"]
    assert len(signals) == 32
    assert "why" not in signals[0]
    assert HOSTILE in refused["message"]
    assert "\\u003cscript" in raw
