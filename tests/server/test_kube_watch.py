"""The watch of the authentication ConfigMap: what it tells, and what it survives, told as stories of list and watch."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from adapter.kube_watch import MAX_LINE_BYTES, ConfigMapWatcher, follow

GONE = {"type": "ERROR", "object": {"kind": "Status", "code": 410, "metadata": {}}}


class EndOfStoryError(BaseException):
    """The script is over."""


def event(kind: str, version: str, value: str) -> dict:
    return {"type": kind, "object": {"metadata": {"resourceVersion": version}, "data": {"ca": value}}}


class Answer:
    """The open answer to a watch: its bytes in pieces, then its end."""

    def __init__(self, pieces: list[bytes], status: int = 200) -> None:
        self.status, self.content, self.pieces, self.is_closed = status, self, pieces, False

    async def iter_any(self):
        for piece in self.pieces:
            yield piece

    def close(self) -> None:
        self.is_closed = True


class Script:
    """An API server by script: what each list and each watch gives, in order."""

    def __init__(self, *steps: object) -> None:
        self.steps = list(steps)
        self.asked: list[str] = []
        self.pauses: list[float] = []

    def next(self) -> object:
        if not self.steps:
            raise EndOfStoryError
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step

    async def list(self) -> tuple[str, list[Mapping]]:
        self.asked.append("list")
        version, data = self.next()  # type: ignore[misc]
        return version, [{"data": data}]

    async def watch(self, version: str, seconds: int) -> Answer:
        self.asked.append(f"watch {version}")
        return self.next()  # type: ignore[return-value]

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


def lines(*events: dict) -> Answer:
    return Answer([b"".join(json.dumps(one).encode() + b"\n" for one in events)])


async def told(script: Script) -> list[Mapping[str, str]]:
    heard: list[Mapping[str, str]] = []
    with pytest.raises(EndOfStoryError):
        async with asyncio.timeout(10):
            await follow(script, ConfigMapWatcher(heard.append), script.sleep)
    return heard


async def test_a_change_is_told_and_the_next_watch_goes_on_from_it() -> None:
    script = Script(("5", {"ca": "a"}), lines(event("MODIFIED", "7", "b")), lines(event("DELETED", "9", "b")))
    assert await told(script) == [{"ca": "a"}, {"ca": "b"}, {}]
    assert script.asked == ["list", "watch 5", "watch 7", "watch 9"]


async def test_a_version_that_is_gone_is_listed_anew_and_never_asked_for_again() -> None:
    script = Script(("5", {"ca": "a"}), lines(GONE), ("80", {"ca": "b"}), Answer([], 410), ("90", {"ca": "c"}))
    assert await told(script) == [{"ca": "a"}, {"ca": "b"}, {"ca": "c"}]
    assert script.asked == ["list", "watch 5", "list", "watch 80", "list", "watch 90"]
    assert script.pauses == [1, 1]


async def test_while_the_api_server_is_gone_the_pauses_grow_and_a_success_ends_that() -> None:
    gone = [ConnectionRefusedError()] * 7
    script = Script(*gone, ("5", {"ca": "a"}), ConnectionResetError(), ("6", {"ca": "b"}))
    assert await told(script) == [{"ca": "a"}, {"ca": "b"}]
    assert script.pauses == [1, 2, 4, 8, 16, 30, 30, 1]


async def test_an_event_in_pieces_is_one_event_and_bookmarks_move_the_version_on() -> None:
    text = json.dumps(event("MODIFIED", "6", "b")).encode()
    bookmark = json.dumps({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "8"}}}).encode()
    script = Script(("5", {}), Answer([text[:9], text[9:] + b"\n" + bookmark[:3], bookmark[3:] + b"\n"]))
    assert await told(script) == [{}, {"ca": "b"}]
    assert script.asked[-1] == "watch 8"


@pytest.mark.parametrize("piece", [b"no json\n", b"[]\n", b"x" * (MAX_LINE_BYTES + 1)], ids=["text", "list", "endless"])
async def test_what_is_no_event_ends_the_watch_and_the_answer_is_closed(piece: bytes) -> None:
    answer = Answer([piece])
    script = Script(("5", {"ca": "a"}), answer, ("6", {"ca": "b"}))
    assert await told(script) == [{"ca": "a"}, {"ca": "b"}]
    assert answer.is_closed
