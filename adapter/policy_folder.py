"""The policy folder: which policies are in force, read from files that may change at any time.

A broken file keeps the last good version of its policies in force and is reported once per change; a file that is gone
withdraws its policies. What did not change keeps its plan, whatever file and line it stands in now, so that whoever
runs it need not begin anew.
"""

import hashlib
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from adapter import clock
from adapter.core.documents import Path as Place
from adapter.core.policy_reading import LoadedPolicy, collisions, read_policies
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Problem, has_errors
from adapter.core.reach import Reach
from adapter.policy_files import PolicyFile, PolicyFolderError, Signature, list_files, read_at, unreadable

LOOK_TRIES = 4
PAUSE_SECONDS = 0.05
SETTLED_SECONDS = 3.0
"""A file changed later than this before it was read is read again at the next look: the clock of a file system may be
as coarse as 2 s (FAT), so a second change may leave no trace but the text."""

PLACES: tuple[Place, ...] = ((), ("metadata", "name"), ("spec", "publish", "metric"))
"""What of a document can still be spoken of once it is in force: where its names stand."""

Key = tuple[str, str]


class _Changing(Exception):
    """A file was changed or taken away while it was read."""


@dataclass(frozen=True, slots=True)
class FileState:
    """One file as it was last read, and the policies that hold; of a broken one those of an earlier version."""

    digest: str
    signature: Signature | None
    policies: tuple[LoadedPolicy, ...]
    is_broken: bool = False
    names: frozenset[str] = frozenset()
    """What may be names and namespaces of policies in the text, if it is broken."""

    def may_define(self, key: Key) -> bool:
        """Whether a broken text names a policy."""
        return self.is_broken and all(part in self.names for part in key)


class PolicyFolder:
    """The policies in force, kept between looks."""

    def __init__(
        self,
        path: Path,
        library: PresetLibrary,
        on_broken: Callable[[str, list[Problem]], None],
        reach: Reach | None = None,
    ) -> None:
        self._path, self._library, self._on_broken, self._reach = path, library, on_broken, reach
        self._files: dict[str, FileState] = {}
        self._refused: set[str] = set()
        self._in_force: Mapping[Key, LoadedPolicy] = {}

    @property
    def broken_files(self) -> int:
        """How many files are broken now."""
        return sum(state.is_broken for state in self._files.values())

    def look(self) -> Mapping[Key, LoadedPolicy]:
        """Read what changed; the policies in force by namespace and name. PolicyFolderError if there is no folder."""
        states, broken = self._read_all()
        for name, problems in broken:
            self._on_broken(name, problems)
        is_same = states.keys() == self._files.keys() and all(
            one.policies is self._files[name].policies for name, one in states.items()
        )
        self._files = states
        if not is_same:
            self._files = settled(states, self._in_force)
            self._in_force = self._without_collisions([one for state in self._files.values() for one in state.policies])
        return self._in_force

    def _read_all(self) -> tuple[dict[str, FileState], list[tuple[str, list[Problem]]]]:
        """Every file as of one moment; what was broken is told once it is clear that this was one moment."""
        for tries_left in reversed(range(LOOK_TRIES)):
            broken: list[tuple[str, list[Problem]]] = []
            try:
                files = list_files(self._path)
                states = {file.name: self._look_at(file, broken, insists=bool(tries_left)) for file in files}
            except (FileNotFoundError, _Changing):
                time.sleep(PAUSE_SECONDS)
                continue
            return states, broken
        raise PolicyFolderError(f"{self._path} changes faster than it can be read; replace files as a whole")

    def _look_at(self, file: PolicyFile, broken: list[tuple[str, list[Problem]]], *, insists: bool) -> FileState:
        before = self._files.get(file.name)
        if before is not None and before.signature == file.signature:
            return before
        text = ""
        try:
            text, signature = read_at(file.place)
            if insists and signature != file.signature:
                raise _Changing(file.name)
            digest = hashlib.sha256(text.encode()).hexdigest()
            problems: list[Problem] = []
        except FileNotFoundError:
            raise
        except (OSError, ValueError) as error:
            digest, problems = f"unreadable: {error}", [unreadable(file.name, error)]
        seen = file.signature if clock.now() - file.changed_at > SETTLED_SECONDS else None
        if before is not None and before.digest == digest:
            return replace(before, signature=seen)
        policies, found = read_policies(text, file.name, self._library, self._reach) if not problems else ([], problems)
        if not has_errors(found):
            return FileState(digest, seen, tuple(self._known(one) for one in policies))
        broken.append((file.name, found))
        kept = before.policies if before is not None else ()
        return FileState(digest, seen, kept, is_broken=True, names=frozenset(_NAME.findall(text)))

    def _known(self, loaded: LoadedPolicy) -> LoadedPolicy:
        """The policy with the plan that is in force for it, if nothing of it changed; only its place may be new."""
        document = loaded.document
        places = {place: document.value_at(place) for place in PLACES}
        document = replace(document, value=None, values=places, keys={})
        running = self._in_force.get(loaded.policy.key)
        same = running if running is not None and running.policy == loaded.policy else loaded
        return replace(same, document=document)

    def _without_collisions(self, policies: list[LoadedPolicy]) -> Mapping[Key, LoadedPolicy]:
        """Of policies that collide the first holds, by file name; each collision is reported once."""
        problems = collisions(policies)
        refused = {(problem.file, problem.position) for problem in problems}
        for problem in problems:
            if str(problem) not in self._refused:
                self._on_broken(problem.file, [problem])
        self._refused = {str(problem) for problem in problems}
        return {
            one.policy.key: one
            for one in reversed(policies)
            if not any((one.document.file, one.document.value_at(path)) in refused for path in PLACES[1:])
        }


_NAME = re.compile(r"""\bname(?:space)?:\s*["']?([A-Za-z0-9][A-Za-z0-9.-]*)""")


def settled(states: Mapping[str, FileState], in_force: Mapping[Key, LoadedPolicy]) -> dict[str, FileState]:
    """The states with what each broken file keeps: what it defined last, and what it names that was in force.

    What a sound file or an earlier broken one defines is no longer kept: it was moved there, and is withdrawn with that
    file. What a broken file names may have been moved into it, or be a renamed file's, in the change that broke it.
    """
    taken = {one.policy.key for state in states.values() if not state.is_broken for one in state.policies}
    found = {}
    for name, state in states.items():
        if state.is_broken:
            own = {one.policy.key: one for one in state.policies}
            named = {key: one for key, one in in_force.items() if state.may_define(key)}
            kept = {key: one for key, one in {**named, **own}.items() if key not in taken}
            taken |= kept.keys()
            state = state if kept.keys() == own.keys() else replace(state, policies=tuple(kept.values()))
        found[name] = state
    return found
