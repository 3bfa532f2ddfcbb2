"""What an identity may do: reviewed, remembered for ten seconds, and never assumed."""

import asyncio
import json
from pathlib import Path

import pytest
from api_fakes import HPA, FakeApiServer, FakeMetrics
from api_serving import QUEUE as VALUES
from api_serving import Cluster, serving
from raw_http import PREFIX, Connection, get

from adapter.authorization import AllowAll, ReviewingAuthorizer, forbidden
from adapter.core.api_requests import AccessAttributes
from adapter.reviews import ANONYMOUS, MASTERS, AnswerCache, Identity, ReviewUnavailableError

QUEUE = f"{PREFIX}/namespaces/default/queue"
LIST_QUEUE = AccessAttributes("list", "", "external.metrics.k8s.io", "v1beta1", "default", "queue")
ALICE = Identity("alice", ("system:authenticated",))


class SlowReviewer:
    """Answers when told to."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.reviews = 0
        self.is_allowed = True

    async def review_access(self, identity: Identity, attributes: AccessAttributes) -> bool:
        self.reviews += 1
        await self.may_answer.wait()
        return self.is_allowed


async def test_a_metric_is_reviewed_as_a_list_of_the_resource_of_its_name(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    api_server = FakeApiServer(cluster.config_map)
    async with serving(api_server) as running:
        await get(running.port, QUEUE, {"X-Remote-User": HPA}, cluster.front_proxy)
    assert [attributes for _, attributes in api_server.reviews] == [LIST_QUEUE]


async def test_who_may_not_learns_nothing_about_what_exists(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    metrics = FakeMetrics(VALUES)
    async with serving(FakeApiServer(cluster.config_map), metrics) as running:
        for metric in ("queue", "nosuch"):
            answer = await get(running.port, f"{PREFIX}/namespaces/default/{metric}?labelSelector=%3D", context=None)
            assert answer.json["reason"] == "Forbidden"
            assert answer.json["message"] == (
                f'{metric}.external.metrics.k8s.io is forbidden: User "system:anonymous" cannot list resource'
                f' "{metric}" in API group "external.metrics.k8s.io" in the namespace "default"'
            )
    assert metrics.asked == []


async def test_two_thousand_gets_of_one_user_cost_one_review_in_ten_seconds(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path)
    api_server = FakeApiServer(cluster.config_map)
    now = [0.0]
    async with serving(api_server, monotonic=lambda: now[0]) as running:
        connection = await Connection.open(running.port, cluster.front_proxy)
        for number in range(2000):
            now[0] = number * 0.01  # 20 s in all: reviewed at 0 s and at 10 s
            assert (await connection.get(QUEUE, {"X-Remote-User": HPA})).status == 200
        await connection.close()
    assert len(api_server.reviews) == 2


@pytest.mark.parametrize("path", ["/healthz", "/livez", "/readyz"])
async def test_health_asks_nobody(tmp_path: Path, path: str) -> None:
    api_server = FakeApiServer(Cluster(tmp_path).config_map)
    async with serving(api_server) as running:
        api_server.is_down = True
        assert (await get(running.port, path, {"Authorization": "Bearer bad"})).body == b"ok"
    assert (api_server.reviews, api_server.token_reviews) == ([], 0)


async def test_without_the_api_server_answers_run_out_after_ten_seconds_and_then_nobody_is_let_in(
    tmp_path: Path,
) -> None:
    cluster = Cluster(tmp_path)
    api_server = FakeApiServer(cluster.config_map)
    now = [0.0]
    async with serving(api_server, monotonic=lambda: now[0]) as running:
        connection = await Connection.open(running.port, cluster.front_proxy)
        assert (await connection.get(QUEUE, {"X-Remote-User": HPA})).status == 200
        api_server.is_down = True
        now[0] = 9.9
        assert (await connection.get(QUEUE, {"X-Remote-User": HPA})).status == 200
        now[0] = 10.0
        refused = await connection.get(QUEUE, {"X-Remote-User": HPA})
        assert (refused.status, refused.json["reason"]) == (500, "InternalError")
        assert (await connection.get(QUEUE, {"X-Remote-User": "x", "X-Remote-Group": MASTERS})).status == 200
        assert (await get(running.port, QUEUE, {"Authorization": "Bearer x"})).status == 500
        api_server.is_down = False
        assert (await connection.get(QUEUE, {"X-Remote-User": HPA})).status == 200
        await connection.close()


async def test_a_no_is_remembered_like_a_yes_and_both_can_change() -> None:
    now = [0.0]
    api_server = FakeApiServer(readers=())
    authorizer = ReviewingAuthorizer(api_server, lambda: now[0])
    assert not await authorizer.is_allowed(ALICE, LIST_QUEUE)
    api_server.readers.add("alice")
    assert not await authorizer.is_allowed(ALICE, LIST_QUEUE)
    now[0] = 10.0
    assert await authorizer.is_allowed(ALICE, LIST_QUEUE)
    api_server.readers.clear()
    assert await authorizer.is_allowed(ALICE, LIST_QUEUE)
    now[0] = 20.0
    assert not await authorizer.is_allowed(ALICE, LIST_QUEUE)


async def test_many_who_wait_for_one_answer_ask_once_and_who_leaves_does_not_take_it_along() -> None:
    reviewer = SlowReviewer()
    authorizer = ReviewingAuthorizer(reviewer, lambda: 0.0)
    first, *others = [asyncio.create_task(authorizer.is_allowed(ALICE, LIST_QUEUE)) for _ in range(50)]
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    reviewer.may_answer.set()
    assert await asyncio.gather(*others) == [True] * 49
    assert reviewer.reviews == 1


async def test_an_answer_counts_from_when_it_was_asked_for() -> None:
    now = [0.0]
    reviewer = SlowReviewer()
    authorizer = ReviewingAuthorizer(reviewer, lambda: now[0])
    task = asyncio.create_task(authorizer.is_allowed(ALICE, LIST_QUEUE))
    await asyncio.sleep(0)
    now[0] = 4.0
    reviewer.may_answer.set()
    await task
    now[0] = 9.9
    await authorizer.is_allowed(ALICE, LIST_QUEUE)
    assert reviewer.reviews == 1
    now[0] = 10.0
    await authorizer.is_allowed(ALICE, LIST_QUEUE)
    assert reviewer.reviews == 2


async def test_answers_are_bounded_and_the_least_used_goes_first() -> None:
    cache: AnswerCache[int, int] = AnswerCache(lambda: 0.0, max_answers=3)
    asked: list[int] = []

    def ask(key: int):
        async def answer() -> int:
            asked.append(key)
            return key

        return answer

    for key in (1, 2, 3, 1, 4, 1, 2):
        assert await cache.get(key, ask(key)) == key
    assert asked == [1, 2, 3, 4, 2]
    assert len(cache) == 3


async def test_a_failure_reaches_everybody_who_waits_and_is_not_kept() -> None:
    api_server = FakeApiServer(readers=("alice",))
    api_server.is_down = True
    authorizer = ReviewingAuthorizer(api_server, lambda: 0.0)
    tasks = [authorizer.is_allowed(ALICE, LIST_QUEUE) for _ in range(3)]
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, ReviewUnavailableError) for result in results)
    api_server.is_down = False
    assert await authorizer.is_allowed(ALICE, LIST_QUEUE)


async def test_questions_of_absurd_length_are_kept_by_their_digest() -> None:
    api_server = FakeApiServer(readers=("alice",))
    authorizer = ReviewingAuthorizer(api_server, lambda: 0.0)
    absurd = AccessAttributes("list", "", "external.metrics.k8s.io", "v1beta1", "default", "q" * 60_000)
    other = Identity("bob", ("g" * 60_000,))
    for _ in range(3):
        assert await authorizer.is_allowed(ALICE, absurd)
        assert not await authorizer.is_allowed(other, absurd)
        assert not await authorizer.is_allowed(Identity("bob", ("g" * 60_001,)), absurd)
    assert len(api_server.reviews) == 3


async def test_always_allow_lets_everybody_in() -> None:
    assert await AllowAll().is_allowed(ANONYMOUS, LIST_QUEUE)


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        (
            AccessAttributes("get", path="/apis/<x>"),
            'forbidden: User "alice" cannot get path "/apis/&lt;x&gt;"',
        ),
        (
            AccessAttributes("list", "", "external.metrics.k8s.io", "v1beta1", "", "queue"),
            'queue.external.metrics.k8s.io is forbidden: User "alice" cannot list resource "queue" in API group'
            ' "external.metrics.k8s.io" at the cluster scope',
        ),
        (
            AccessAttributes("get", "", "external.metrics.k8s.io", "v1beta1", "default", "queue", "status", "name"),
            'queue.external.metrics.k8s.io "name" is forbidden: User "alice" cannot get resource "queue/status" in API'
            ' group "external.metrics.k8s.io" in the namespace "default"',
        ),
        (
            AccessAttributes("get", "", "external.metrics.k8s.io", "v1beta1", "default", "queue", "", "name"),
            'queue.external.metrics.k8s.io "name" is forbidden: User "alice" cannot get resource "queue" in API group'
            ' "external.metrics.k8s.io" in the namespace "default"',
        ),
    ],
    ids=["path", "cluster scope", "subresource", "named"],
)
def test_a_refusal_has_the_words_of_the_api_server(attributes: AccessAttributes, message: str) -> None:
    """Captures 247, 267 and 268."""
    assert json.loads(forbidden(ALICE, attributes).render())["message"] == message
