"""What is made of the objects that a watch tells: which are in force, and what stays when something fails."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from policy_world import LIBRARY
from scaling_policy import item, policy_object

from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.policy_status import Judgement, Shown, status_of
from adapter.kube_watch import WatchEndedError
from adapter.policy_objects import ABSENT_ANSWERS, MAX_OBJECTS, PolicyObjects

GONE = WatchEndedError("status 404", 404)


def file_policy(name: str, metric: str | None = None) -> LoadedPolicy:
    (loaded,), _ = read_policies(policy_object(name, metric=metric), "a.yaml", LIBRARY)
    return loaded


class World:
    """The objects under test, with what they report."""

    def __init__(self) -> None:
        self.broken = self.changes = 0
        self.objects = PolicyObjects(LIBRARY, self.break_one, self.change)
        self.judged = asyncio.Event()

    def break_one(self) -> None:
        self.broken += 1

    def change(self) -> None:
        self.changes += 1
        self.judged.set()

    async def settle(self) -> None:
        """Wait until what was told has been judged."""
        async with asyncio.timeout(10):
            await self.judged.wait()
        self.judged.clear()

    def in_force(self, *files: LoadedPolicy) -> list[str]:
        return sorted(name for _, name in self.objects.joined({one.policy.key: one for one in files}))

    def judgement(self, name: str) -> Judgement:
        return self.objects.verdicts()["prod", name][1].judgement


@pytest.fixture
async def world() -> AsyncIterator[World]:
    made = World()
    running = asyncio.create_task(made.objects.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_a_list_is_all_that_there_is_and_events_change_it(world: World) -> None:
    world.objects.listed([item("a"), item("b")])
    await world.settle()
    assert (world.in_force(), world.objects.is_listed) == (["a", "b"], True)
    world.objects.changed(item("c"))
    world.objects.deleted(item("a"))
    await world.settle()
    assert world.in_force() == ["b", "c"]
    world.objects.listed([item("c")])
    await world.settle()
    assert world.in_force() == ["c"]


async def test_an_edit_that_is_refused_is_counted_once_and_the_version_before_stays(world: World) -> None:
    world.objects.listed([item("a")])
    await world.settle()
    before = world.objects.joined({})["prod", "a"]
    for _ in range(2):
        world.objects.changed(item("a", 2, bad=True))
        await world.settle()
    assert world.broken == 1
    state, verdict = world.objects.verdicts()["prod", "a"]
    assert verdict.in_force is not None
    assert (verdict.generation, verdict.in_force.generation) == (2, 1)
    assert world.objects.joined({})["prod", "a"] is before is state.loaded


async def test_a_change_of_the_status_alone_does_not_start_a_policy_anew(world: World) -> None:
    world.objects.listed([item("a")])
    await world.settle()
    before = world.objects.joined({})["prod", "a"]
    world.objects.changed(item("a", status={"value": "7"}))
    await world.settle()
    assert world.objects.joined({})["prod", "a"] is before
    assert world.objects.verdicts()["prod", "a"][0].status == {"value": "7"}


async def test_a_new_adapter_goes_on_with_the_version_that_its_predecessor_kept(world: World) -> None:
    first = World()
    running = asyncio.create_task(first.objects.run())
    first.objects.listed([item("a")])
    await first.settle()
    first.objects.changed(item("a", 2, bad=True))
    await first.settle()
    running.cancel()
    status = status_of(first.objects.verdicts()["prod", "a"][1], Shown(None), 0, {})

    world.objects.listed([item("a", 2, bad=True, status=status)])
    await world.settle()
    assert world.in_force() == ["a"]
    kept = world.objects.verdicts()["prod", "a"][1].in_force
    assert kept is not None
    assert kept.generation == 1


async def test_a_kept_version_that_no_longer_passes_is_not_in_force(world: World) -> None:
    world.objects.listed([item("a", 2, bad=True, status={"inForce": {"generation": 1, "spec": {"every": "1s"}}})])
    await world.settle()
    assert world.in_force() == []
    assert world.objects.verdicts()["prod", "a"][1].in_force is None


async def test_an_object_made_anew_under_a_name_has_no_version_before(world: World) -> None:
    world.objects.listed([item("a")])
    await world.settle()
    other = item("a", 1, bad=True)
    other["metadata"]["uid"] = "another"
    world.objects.changed(other)
    await world.settle()
    assert world.in_force() == []


async def test_a_file_holds_a_name_and_a_metric_against_an_object_and_is_never_put_out(world: World) -> None:
    world.objects.listed([item("same"), item("other", metric="M")])
    await world.settle()
    files = [file_policy("same"), file_policy("mine", "m")]
    assert world.in_force(*files) == ["mine", "same"]
    assert world.objects.joined({one.policy.key: one for one in files})["prod", "same"] is files[0]
    assert (world.judgement("same"), world.judgement("other")) == (Judgement.CONFLICTED, Judgement.CONFLICTED)
    assert world.broken == 2
    assert world.in_force() == ["other", "same"]
    assert world.judgement("other") is Judgement.ACCEPTED


async def test_of_two_objects_the_older_holds_whatever_came_first(world: World) -> None:
    world.objects.listed([item("young", metric="m", created="2026-02-02T00:00:00Z"), item("old", metric="m")])
    await world.settle()
    assert world.in_force() == ["old"]
    assert world.objects.verdicts()["prod", "young"][1].message == (
        'the metric "m" is published twice in prod, first in ScalingPolicy prod/old [duplicate-metric]; '
        "rename one of the two; the HPA asks for names in lower case, so case does not tell them apart"
    )


async def test_while_the_api_server_is_gone_everything_stays(world: World) -> None:
    world.objects.listed([item("a")])
    await world.settle()
    for error in (ConnectionRefusedError(), TimeoutError(), WatchEndedError("403", 403), WatchEndedError("410", 410)):
        world.objects.failed(error)
    await world.settle()
    assert world.in_force() == ["a"]


async def test_a_kind_that_is_gone_for_half_a_minute_takes_its_policies_with_it(world: World) -> None:
    world.objects.listed([item("a")])
    await world.settle()
    for _ in range(ABSENT_ANSWERS - 1):
        world.objects.failed(GONE)
    world.objects.failed(ConnectionRefusedError())
    for _ in range(ABSENT_ANSWERS - 1):
        world.objects.failed(GONE)
    assert world.in_force() == ["a"]
    world.objects.failed(GONE)
    assert world.in_force() == []


async def test_what_was_deleted_while_it_was_judged_does_not_come_back(world: World) -> None:
    world.objects.listed([item("a")])
    await asyncio.sleep(0)  # the judging has begun, in its thread
    world.objects.deleted(item("a"))
    await world.settle()
    assert world.in_force() == []


async def test_an_answer_of_any_kind_makes_it_asked_for(world: World) -> None:
    assert not world.objects.has_been_asked_for
    world.objects.failed(ConnectionRefusedError())
    assert world.objects.has_been_asked_for
    assert not world.objects.is_listed


async def test_no_more_than_the_bound_are_read(world: World) -> None:
    good = item("a")
    many = [{**good, "metadata": {**good["metadata"], "name": f"n{number}"}} for number in range(MAX_OBJECTS + 5)]
    world.objects.listed(many)
    assert len(world.objects._waiting) == MAX_OBJECTS
    world.objects.changed(item("late"))
    assert len(world.objects._waiting) == MAX_OBJECTS
    world.objects.listed([good])
    await world.settle()
    assert world.in_force() == ["a"]


async def test_a_policy_that_trips_the_reader_leaves_the_others(world: World) -> None:
    world.objects.listed([item("a"), item("b")])
    await world.settle()
    assert world.in_force() == ["a", "b"]
    broken = item("b", 2, bad=True)
    world.objects.listed([{**broken, "metadata": {**broken["metadata"], "generation": "many"}}, item("c")])
    await world.settle()
    assert world.in_force() == ["b", "c"]
