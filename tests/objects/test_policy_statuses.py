"""When a status is written, told on a time line: at once when something turns, seldom for numbers, else never."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

import pytest
from policy_world import LIBRARY
from scaling_policy import item

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.policy_status import Shown
from adapter.core.reasons import Missing, Reason
from adapter.core.signals import GroupSignal, NoSignal, Signal, Why
from adapter.kube_watch import Watcher
from adapter.policy_objects import PolicyObjects
from adapter.policy_statuses import WRITES_A_LOOK, StatusWriter
from adapter.reviews import ReviewUnavailableError

NOW = 1_800_000_000.0
WHY = Why(NOW, NOW - 2, (), (), None, None, None, None, "term batch", ())
SIGNAL_LOST = NoSignal(Missing(Reason.STALE, "old"))


class World:
    """An API server that takes what is written and shows it to the watch, adapters beside it, and one clock."""

    def __init__(self) -> None:
        self.clock = 1000.0
        self.items: dict[str, dict[str, Any]] = {}
        self.writes: list[tuple[str, str]] = []
        self.fault: ReviewUnavailableError | None = None
        self.adapters: list[Neighbour] = []

    def neighbour(self) -> "Neighbour":
        made = Neighbour(self)
        self.adapters.append(made)
        return made

    def put(self, *items: dict[str, Any]) -> None:
        self.items.update({one["metadata"]["name"]: one for one in items})

    async def write_status(self, namespace: str, name: str, uid: str, status: Mapping[str, Any]) -> None:
        if self.fault is not None:
            raise self.fault
        self.writes.append((name, status.get("value", "none")))
        self.items[name] = {**self.items[name], "status": dict(status)}

    async def watch(self, watcher: Watcher) -> None:
        watcher.listed(list(self.items.values()))

    async def close(self) -> None:
        pass

    async def pass_seconds(self, seconds: float) -> None:
        """Let the time pass, each adapter looking every two seconds at what the API server has."""
        end = self.clock + seconds
        while self.clock < end:
            self.clock += 2
            for one in self.adapters:
                await one.look()


class Neighbour:
    """One adapter."""

    def __init__(self, world: World) -> None:
        self.world, self.outcome = world, Signal(7000, NOW, WHY)
        self.judged = asyncio.Event()
        self.objects = PolicyObjects(LIBRARY, lambda: None, self.judged.set)
        self.counted: list[str] = []
        self.writer = StatusWriter(
            self.objects, world, self.shown, self.counted.append, lambda: NOW + world.clock, lambda: world.clock
        )
        self.running = asyncio.create_task(self.objects.run())

    def shown(self, loaded: LoadedPolicy) -> Shown:
        return Shown(NOW + self.world.clock, [GroupSignal({}, self.outcome)])

    def says(self, value: int) -> None:
        self.outcome = Signal(value * 1000, NOW, WHY)

    async def look(self) -> None:
        self.judged.clear()
        await self.world.watch(self.objects)
        async with asyncio.timeout(20):
            await self.judged.wait()
        await self.writer.look()


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    yield made
    for one in made.adapters:
        one.running.cancel()
        await asyncio.gather(one.running, return_exceptions=True)


async def test_a_new_policy_is_written_at_once_and_one_that_stands_still_never_again(world: World) -> None:
    world.put(item("a"))
    world.neighbour()
    await world.pass_seconds(2)
    assert world.writes == [("a", "7")]
    await world.pass_seconds(600)
    assert world.writes == [("a", "7")]


async def test_numbers_that_move_all_the_time_are_written_every_thirty_seconds(world: World) -> None:
    world.put(item("a"))
    adapter = world.neighbour()
    for second in range(150):
        adapter.says(second)
        await world.pass_seconds(2)
    # 300 s: at 2 s, then every 30 s.
    assert [value for _, value in world.writes] == [str(second) for second in range(0, 150, 15)]


async def test_a_signal_that_goes_and_comes_is_told_at_once_but_at_most_every_four_seconds(world: World) -> None:
    world.put(item("a"))
    adapter = world.neighbour()
    await world.pass_seconds(60)
    for _ in range(15):
        adapter.outcome = SIGNAL_LOST if isinstance(adapter.outcome, Signal) else Signal(7000, NOW, WHY)
        await world.pass_seconds(2)
    # It turns at each look. Written at 62 s; at 64 s it is too soon, at 66 s it is as it stands there, at 68 s written.
    assert [value for _, value in world.writes] == ["7", "none"] * 3


async def test_a_neighbour_finds_nothing_left_to_write(world: World) -> None:
    world.put(item("a"))
    one, two = world.neighbour(), world.neighbour()
    for second in range(60):
        one.says(second)
        two.says(second)
        await world.pass_seconds(2)
    assert len(world.writes) == 4  # 120 s: at 2, 32, 62 and 92 s, whoever of the two it was
    assert len(one.counted) + len(two.counted) == 4


async def test_two_adapters_that_disagree_write_against_each_other_every_thirty_seconds_only(world: World) -> None:
    world.put(item("a"))
    one, two = world.neighbour(), world.neighbour()
    two.outcome = SIGNAL_LOST
    await world.pass_seconds(120)
    assert one.outcome != two.outcome
    assert len(world.writes) <= 5


async def test_a_refused_edit_is_told_at_once_whoever_wrote_last(world: World) -> None:
    world.put(item("a"))
    one = world.neighbour()
    await world.pass_seconds(10)
    two = world.neighbour()
    await world.pass_seconds(4)
    world.adapters.remove(one)
    world.put({**item("a", 2, bad=True), "status": world.items["a"]["status"]})
    await world.pass_seconds(2)
    status = world.items["a"]["status"]
    assert (status["observedGeneration"], status["inForce"]["generation"], two.counted) == (2, 1, ["written"])


async def test_a_thousand_policies_are_written_at_no_more_than_ten_a_second_turns_first(world: World) -> None:
    world.put(*(item(f"p{number}") for number in range(100)))
    adapter = world.neighbour()
    await world.pass_seconds(2)
    assert len(world.writes) == WRITES_A_LOOK == 20
    await world.pass_seconds(8)
    assert len(world.writes) == 100
    await world.pass_seconds(40)
    adapter.says(9)
    world.put({**item("p99", 2, bad=True), "status": world.items["p99"]["status"]})
    await world.pass_seconds(2)
    assert world.writes[100][0] == "p99"
    assert len(world.writes) == 120
    await world.pass_seconds(8)
    assert sorted(world.writes[100:]) == sorted((f"p{number}", "9") for number in range(100))


async def test_a_write_that_is_forbidden_is_tried_again_after_five_minutes(world: World) -> None:
    world.put(item("a"), item("b"))
    adapter = world.neighbour()
    world.fault = ReviewUnavailableError("403", 403)
    await world.pass_seconds(290)
    assert adapter.counted == ["failed"]
    world.fault = None
    await world.pass_seconds(20)
    assert adapter.counted == ["failed", "written", "written"]


async def test_an_api_server_that_is_gone_is_left_alone_for_thirty_seconds(world: World) -> None:
    world.put(item("a"))
    adapter = world.neighbour()
    world.fault = ReviewUnavailableError("refused")
    await world.pass_seconds(120)
    assert adapter.counted == ["failed"] * 4
    world.fault = None
    await world.pass_seconds(32)
    assert adapter.counted[4:] == ["written"]


async def test_an_object_that_is_gone_when_its_status_comes_is_no_reason_to_wait(world: World) -> None:
    world.put(item("a"))
    adapter = world.neighbour()
    world.fault = ReviewUnavailableError("404", 404)
    await world.pass_seconds(2)
    world.fault = None
    world.put(item("b"))
    await world.pass_seconds(2)
    assert adapter.counted == ["failed", "written"]


async def test_a_status_that_somebody_else_overwrote_is_written_again(world: World) -> None:
    world.put(item("a"))
    world.neighbour()
    await world.pass_seconds(60)
    world.put({**world.items["a"], "status": {}})
    await world.pass_seconds(60)
    assert world.writes == [("a", "7"), ("a", "7")]
