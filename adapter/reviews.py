"""Identities, the two questions asked about them, and the cache of the answers.

An aggregated server does not decide who somebody is or what they may do: it asks the API server (TokenReview,
SubjectAccessReview) and remembers the answer for ten seconds. Nothing here knows how it is asked.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from adapter.core.api_requests import AccessAttributes

ANSWER_SECONDS = 10.0
MAX_ANSWERS = 4096

AUTHENTICATED = "system:authenticated"
UNAUTHENTICATED = "system:unauthenticated"
MASTERS = "system:masters"


@dataclass(frozen=True, slots=True)
class Identity:
    """Who asks, as Kubernetes knows them."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: tuple[tuple[str, tuple[str, ...]], ...] = ()


ANONYMOUS = Identity("system:anonymous", (UNAUTHENTICATED,))


class ReviewUnavailableError(Exception):
    """The API server gave no answer; whoever asked must refuse. `status` is the code it gave instead, if any."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class TokenReviewer(Protocol):
    """Tells whose bearer token it is; None for nobody's."""

    async def review_token(self, token: str) -> Identity | None: ...


class AccessReviewer(Protocol):
    """Tells whether an identity may do something."""

    async def review_access(self, identity: Identity, attributes: AccessAttributes) -> bool: ...


Key = TypeVar("Key", bound=Hashable)
Answer = TypeVar("Answer")


class AnswerCache(Generic[Key, Answer]):
    """Answers by key for some seconds, at most so many, each asked for once however many wait for it.

    Failures are not kept: they reach everybody who waits, and the next one asks again.
    """

    def __init__(
        self, monotonic: Callable[[], float], keep_seconds: float = ANSWER_SECONDS, max_answers: int = MAX_ANSWERS
    ) -> None:
        self._monotonic = monotonic
        self._keep_seconds = keep_seconds
        self._max_answers = max_answers
        self._answers: OrderedDict[Key, tuple[float, Answer]] = OrderedDict()
        self._pending: dict[Key, asyncio.Task[Answer]] = {}

    async def get(self, key: Key, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        """The answer for the key; asked for if none is kept that is young enough."""
        kept = self._answers.get(key)
        now = self._monotonic()
        if kept is not None and now < kept[0]:
            self._answers.move_to_end(key)
            return kept[1]
        task = self._pending.get(key)
        if task is None:
            task = asyncio.ensure_future(self._ask(key, ask, now))
            self._pending[key] = task
            task.add_done_callback(lambda done: self._forget(key, done))
        # One client that hangs up must not take the answer from the others who wait for it.
        return await asyncio.shield(task)

    async def _ask(self, key: Key, ask: Callable[[], Awaitable[Answer]], asked: float) -> Answer:
        answer = await ask()
        # It is true as of when it was asked, so a slow answer is kept for less.
        self._answers[key] = (asked + self._keep_seconds, answer)
        self._answers.move_to_end(key)
        while len(self._answers) > self._max_answers:
            self._answers.popitem(last=False)
        return answer

    def _forget(self, key: Key, task: "asyncio.Task[Answer]") -> None:
        self._pending.pop(key, None)
        if not task.cancelled():
            task.exception()  # seen here, in case everybody who waited has gone

    def __len__(self) -> int:
        return len(self._answers)
