"""The policies that are objects of the API server: what stands there, what of it is in force, and why the rest is not.

Told by a watch, and judged in a thread, since a policy takes milliseconds to read and a thousand come at once. An edit
that is refused leaves the last accepted version in force, as with files; the status holds that version, so that an
adapter which starts anew goes on with it. While the API server is gone everything stays as it was.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import structlog

from adapter.core.object_documents import object_name, policy_of, read_object, words_of
from adapter.core.policy_reading import LoadedPolicy, collisions
from adapter.core.policy_status import InForce, Judgement, Verdict, accepted_before
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Problem
from adapter.core.reach import Reach
from adapter.kube_watch import Item

MAX_OBJECTS = 5000
ABSENT_ANSWERS = 6
"""So many answers of 404 in a row take 1 + 2 + 4 + 8 + 16 = 31 s: then the kind is gone, and its policies with it."""

NOT_FOUND, FORBIDDEN = 404, 403

Key = tuple[str, str]
_log = structlog.get_logger("scaleproof.objects")


@dataclass(frozen=True, slots=True)
class ObjectState:
    """One object as it was last seen, and the version of it that is accepted, perhaps an earlier one."""

    uid: str
    generation: int
    created: str
    policy: Mapping[str, object]
    status: Mapping[str, Any]
    judgement: Judgement
    message: str
    loaded: LoadedPolicy | None
    in_force: InForce | None


class PolicyObjects:
    """What the watch told. Calls `on_change` when what is in force may be another."""

    def __init__(
        self,
        library: PresetLibrary,
        on_broken: Callable[[], None],
        on_change: Callable[[], None],
        reach: Reach | None = None,
    ) -> None:
        self._library, self._on_broken, self._on_change, self._reach = library, on_broken, on_change, reach
        self._states: dict[Key, ObjectState] = {}
        self._waiting: dict[Key, Item] = {}
        self._judging: set[Key] = set()
        self._woken = asyncio.Event()
        self._conflicts: dict[str, Problem] = {}
        self._absent, self._fault = 0, ""
        self.is_listed = False
        self.has_been_asked_for = False

    # What the watch tells

    def listed(self, items: Sequence[Item]) -> None:
        found = {_key(item): item for item in items[:MAX_OBJECTS]}
        if len(items) > MAX_OBJECTS:
            _log.error("scaling-policies-too-many", found=len(items), read=MAX_OBJECTS)
        for gone in [key for key in {*self._states, *self._waiting} if key not in found]:
            self._forget(gone)
        self._waiting.update(found)
        if self._fault or not self.is_listed:
            _log.info("scaling-policies-listed", found=len(items))
        self._absent, self._fault = 0, ""
        self.is_listed = True
        self._woken.set()

    def changed(self, item: Item) -> None:
        key = _key(item)
        if key in self._states or key in self._waiting or len(self._states) + len(self._waiting) < MAX_OBJECTS:
            self._waiting[key] = item
            self._woken.set()
        else:
            _log.error("scaling-policies-too-many", policy="/".join(key), read=MAX_OBJECTS)

    def deleted(self, item: Item) -> None:
        self._forget(_key(item))
        self._woken.set()

    def failed(self, error: Exception) -> None:
        """Say once why the policies cannot be seen; they stay as they were, unless their kind is gone for good."""
        status = getattr(error, "status", None)
        self._absent = self._absent + 1 if status == NOT_FOUND else 0
        if self._absent == ABSENT_ANSWERS and self.is_listed:
            for key in [*self._states]:
                self._forget(key)
        fault = str(status or type(error).__name__)
        if status != 410 and fault != self._fault:  # a version that is too old is the usual way of a watch
            self._fault = fault
            _say(status, error)
        self.has_been_asked_for = True
        self._woken.set()

    def _forget(self, key: Key) -> None:
        self._states.pop(key, None)
        self._waiting.pop(key, None)
        self._judging.discard(key)

    # What is made of it

    async def run(self) -> None:
        """Judge what was told, until cancelled."""
        while True:
            await self._woken.wait()
            self._woken.clear()
            waiting, self._waiting = self._waiting, {}
            before = {key: self._states.get(key) for key in waiting}
            self._judging = set(waiting)
            judged = await asyncio.to_thread(self._judge_all, waiting, before)
            for key, state in judged.items():
                if key in self._judging:  # else it was deleted meanwhile
                    self._states[key] = state
                    self._report(key, before[key], state)
            self._judging = set()
            self.has_been_asked_for = True
            try:
                self._on_change()
            except Exception:
                # A fault of ours must not end the loop: no later change of any policy would be seen.
                self._on_broken()
                _log.exception("scaling-policies-fault")

    def _judge_all(self, items: Mapping[Key, Item], before: Mapping[Key, ObjectState | None]) -> dict[Key, ObjectState]:
        judged = {}
        for key, item in items.items():
            try:
                judged[key] = self._judge(key, item, before[key])
            except Exception:
                # One policy that trips us up keeps what it was, and the others are judged.
                _log.exception("policy-object-fault", policy="/".join(key))
        return judged

    def _judge(self, key: Key, item: Item, before: ObjectState | None) -> ObjectState:
        metadata = item["metadata"]
        policy, status = policy_of(item), item.get("status") or {}
        generation = int(metadata.get("generation") or 0)
        if before is not None and before.uid != metadata.get("uid"):
            before = None
        if before is not None and before.policy == policy:
            in_force = before.in_force
            if before.judgement is Judgement.ACCEPTED and in_force is not None:
                in_force = replace(in_force, generation=generation)
            return replace(before, generation=generation, status=status, in_force=in_force)
        loaded, problems = read_object(policy, object_name(*key), self._library, self._reach)
        message = words_of(problems)
        seen = (str(metadata.get("uid")), generation, str(metadata.get("creationTimestamp")), policy, status)
        if loaded is not None:
            spec = policy.get("spec")
            in_force = InForce(generation, spec if isinstance(spec, dict) else {})
            return ObjectState(*seen, Judgement.ACCEPTED, message, loaded, in_force)
        if before is not None:
            return ObjectState(*seen, Judgement.INVALID, message, before.loaded, before.in_force)
        kept = accepted_before(status)
        if kept is not None:
            loaded, _ = read_object({**policy, "spec": dict(kept.spec)}, object_name(*key), self._library, self._reach)
        return ObjectState(*seen, Judgement.INVALID, message, loaded, kept if loaded is not None else None)

    def _report(self, key: Key, before: ObjectState | None, state: ObjectState) -> None:
        is_told = before is not None and before.uid == state.uid and before.policy == state.policy
        if state.judgement is Judgement.INVALID and not is_told:
            self._on_broken()
            kept = state.in_force.generation if state.in_force is not None else None
            _log.error("policy-object-refused", policy="/".join(key), problems=state.message, in_force=kept)

    def joined(self, files: Mapping[Key, LoadedPolicy]) -> dict[Key, LoadedPolicy]:
        """What is in force of files and objects. Where two collide a file holds, then the older object.

        A file is the word of whoever runs the adapter, and it is there without the API server: what holds must not hang
        on which of the two was read first.
        """
        objects = [(state.created, key, state.loaded) for key, state in self._states.items() if state.loaded]
        ordered = [*files.values(), *(loaded for _, _, loaded in sorted(objects, key=lambda one: one[:2]))]
        found = {problem.file: problem for problem in reversed(collisions(ordered))}
        for file in [one for one in found if one not in self._conflicts]:
            self._on_broken()
            _log.error("policy-object-refused", policy=file, problems=found[file].message)
        self._conflicts = found
        return {one.policy.key: one for one in ordered if one.document.file not in found}

    # What is told about it

    def verdicts(self) -> dict[Key, tuple[ObjectState, Verdict]]:
        """Every object with what was made of it."""
        return {key: (state, self._verdict(key, state)) for key, state in self._states.items()}

    def _verdict(self, key: Key, state: ObjectState) -> Verdict:
        conflict = self._conflicts.get(object_name(*key))
        if conflict is None:
            return Verdict(state.generation, state.judgement, state.message, state.in_force)
        message = f"{conflict.message} [{conflict.code}]; {conflict.fix}"
        if state.judgement is Judgement.INVALID:
            return Verdict(state.generation, Judgement.INVALID, f"{state.message}\n{message}", None)
        return Verdict(state.generation, Judgement.CONFLICTED, message, None)


def _key(item: Item) -> Key:
    return (str(item["metadata"]["namespace"]), str(item["metadata"]["name"]))


def _say(status: int | None, error: Exception) -> None:
    if status == NOT_FOUND:
        _log.info(
            "scaling-policies-not-installed", fix="apply the CustomResourceDefinition to have policies as objects"
        )
    elif status == FORBIDDEN:
        fix = "let the ServiceAccount list and watch scalingpolicies.scaleproof.dev, or give --scaling-policies false"
        _log.warning("scaling-policies-forbidden", fix=fix)
    else:
        _log.warning("scaling-policies-unseen", reason=str(error), effect="what is in force stays")
