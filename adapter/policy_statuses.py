"""Writes the status of each ScalingPolicy: at once when something turned, seldom when only numbers moved, else never.

The bounds, for 1,000 policies whose values all move: each is written at most every 30 s, and all together at most ten
times a second, so a round takes 100 s; that is the load of the leases of 100 nodes. Policies that stand still cost
nothing. Two adapters see each other's writes through the watch, so the second finds nothing left to write.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import structlog

from adapter.core.policy_reading import LoadedPolicy
from adapter.core.policy_status import Shown, Status, Verdict, is_same, is_turn, status_of
from adapter.kube_policies import PolicyApi
from adapter.policy_objects import FORBIDDEN, NOT_FOUND, Key, ObjectState, PolicyObjects
from adapter.reviews import ReviewUnavailableError

LOOK_SECONDS = 2.0
WRITES_A_LOOK = 20
WRITES_AT_ONCE = 4
QUIET_SECONDS = 30.0
"""Between two writes of one policy for numbers alone, or against what a neighbour has just written."""

TURN_SECONDS = 4.0
"""Between two writes of one policy when something turned."""

SEEN_SECONDS = 10.0
"""Time in which the watch shows what was written; until then it is taken as there."""

REFUSED_SECONDS = 300.0
CONFLICT = 409

_log = structlog.get_logger("scaleproof.objects")


@dataclass(slots=True)
class Written:
    """The last write of one status, and when what stands there was seen to change."""

    seen: Mapping[str, Any]
    changed_at: float
    status: Status | None = None
    at: float = float("-inf")


class StatusWriter:
    """Looks at all policies every two seconds and writes what is due."""

    def __init__(
        self,
        objects: PolicyObjects,
        api: PolicyApi,
        shown: Callable[[LoadedPolicy], Shown],
        count: Callable[[str], None],
        now: Callable[[], float],
        monotonic: Callable[[], float],
    ) -> None:
        self._objects, self._api, self._shown, self._count = objects, api, shown, count
        self._now, self._monotonic = now, monotonic
        self._written: dict[Key, Written] = {}
        self._paused_until = float("-inf")
        self._fault = ""

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            try:
                await self.look()
            except Exception:
                # A fault of ours costs a look, never the loop.
                _log.exception("status-fault")
            await asyncio.sleep(LOOK_SECONDS)

    async def look(self) -> None:
        """Write what is due, what turned first, then what waits longest."""
        verdicts = self._objects.verdicts()
        self._written = {key: one for key, one in self._written.items() if key in verdicts}
        if self._monotonic() < self._paused_until:
            return
        due = []
        for key, (state, verdict) in verdicts.items():
            status = self._wanted(state, verdict)
            rank = self._rank(key, state, status)
            if rank is not None:
                due.append((rank, key, state.uid, status))
        due.sort(key=lambda one: one[:2])
        at_once = asyncio.Semaphore(WRITES_AT_ONCE)

        async def write(key: Key, uid: str, status: Status) -> None:
            async with at_once:
                await self._write(key, uid, status)

        await asyncio.gather(*(write(key, uid, status) for _, key, uid, status in due[:WRITES_A_LOOK]))

    def _wanted(self, state: ObjectState, verdict: Verdict) -> Status:
        is_running = verdict.in_force is not None and state.loaded is not None
        shown = self._shown(state.loaded) if is_running and state.loaded is not None else Shown(None)
        return status_of(verdict, shown, self._now(), state.status)

    def _rank(self, key: Key, state: ObjectState, status: Status) -> tuple[int, float] | None:
        """None if the status is not due, else its place in the order."""
        now, there = self._monotonic(), state.status
        # An adapter that has just started does not know when that was written: only what turned is written at once.
        written = self._written.setdefault(key, Written(there, now))
        is_own = written.status is not None and is_same(written.status, there)
        if written.seen != there:
            written.seen, written.changed_at = there, written.at if is_own else now
        is_on_its_way = written.status is not None and is_same(status, written.status)
        if is_same(status, there) or (is_on_its_way and now - written.at < SEEN_SECONDS):
            return None
        is_turned = is_turn(status, there)
        if is_turned and (is_own or not there or self._is_about_document(status, there)):
            return (0, written.at) if now - written.at >= TURN_SECONDS else None
        since = max(written.at, written.changed_at)
        return (0 if is_turned else 1, since) if now - since >= QUIET_SECONDS else None

    @staticmethod
    def _is_about_document(status: Mapping[str, Any], before: Mapping[str, Any]) -> bool:
        """Whether the verdict on the document is another, which no neighbour sees otherwise."""
        return bool(
            status["observedGeneration"] != before.get("observedGeneration")
            or _accepted(status) != _accepted(before)
            or ("inForce" in status) != ("inForce" in before)
        )

    async def _write(self, key: Key, uid: str, status: Status) -> None:
        now = self._monotonic()
        if now < self._paused_until:
            return
        written = self._written[key]
        written.at = now
        try:
            await self._api.write_status(*key, uid, status)
        except ReviewUnavailableError as error:
            self._count("failed")
            self._failed(error)
            return
        written.status = status
        self._count("written")
        if self._fault:
            self._fault = ""
            _log.info("status-written-again")

    def _failed(self, error: ReviewUnavailableError) -> None:
        """Say once why nothing can be written, and let the API server be for a while."""
        if error.status in (NOT_FOUND, CONFLICT):
            return  # deleted or made anew meanwhile; the watch tells
        self._paused_until = self._monotonic() + (REFUSED_SECONDS if error.status == FORBIDDEN else QUIET_SECONDS)
        fault = str(error.status or error)
        if fault != self._fault:
            self._fault = fault
            fix = "let the ServiceAccount patch scalingpolicies/status, or give --scaling-policies-status false"
            told = {"fix": fix} if error.status == FORBIDDEN else {}
            _log.warning("status-not-written", reason=str(error), **told)


def _accepted(status: Mapping[str, Any]) -> object:
    conditions = status.get("conditions") or ()
    return next(
        ((one["status"], one["reason"], one["message"]) for one in conditions if one["type"] == "Accepted"), None
    )
