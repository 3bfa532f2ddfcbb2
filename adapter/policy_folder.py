"""The policy folder: which policies are in force, read from files that may change at any time.

A broken file keeps the last good version of its policies in force and is reported once per change; a file that is gone
withdraws its policies. The folder is read whole at each look, so that a swap of a mounted ConfigMap is seen as one.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from adapter.core.policy_reading import LoadedPolicy, collisions, read_policies
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Position, Problem, has_errors
from adapter.core.reach import Reach

MAX_FILES = 5000
MAX_FILE_BYTES = 1_000_000
SUFFIXES = (".yaml", ".yml")


class PolicyFolderError(Exception):
    """The folder itself cannot be read."""


@dataclass(frozen=True, slots=True)
class FileState:
    """One file as it was last read: its digest and the policies that hold, perhaps from an earlier version."""

    digest: str
    policies: tuple[LoadedPolicy, ...]


def policy_files(path: Path) -> list[Path]:
    """The YAML files of a folder and those below it, in the order of their names, or the one file that was named.

    Hidden entries are passed over: a mounted ConfigMap keeps its versions in folders that begin with two dots.
    """
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise PolicyFolderError(f"{path} does not exist; give a folder with policies, or a policy file")
    found = sorted(
        one
        for one in path.rglob("*")
        if one.suffix in SUFFIXES
        and not any(part.startswith(".") for part in one.relative_to(path).parts)
        and not one.name.endswith((".test.yaml", ".test.yml"))
        and one.is_file()
    )
    if len(found) > MAX_FILES:
        raise PolicyFolderError(f"{path} has {len(found)} policy files, at most {MAX_FILES} are read")
    return found


def read_file(path: Path) -> str:
    """The text of a policy file; OSError or ValueError where there is none."""
    data = path.read_bytes()
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"the file has {len(data)} bytes, at most {MAX_FILE_BYTES} are read")
    return data.decode("utf-8")


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

    def look(self) -> Mapping[tuple[str, str], LoadedPolicy]:
        """Read what changed; the policies in force by namespace and name. PolicyFolderError if there is no folder."""
        states: dict[str, FileState] = {}
        for path in policy_files(self._path):
            states[str(path)] = self._look_at(path, self._files.get(str(path)))
        self._files = states
        return self._in_force([one for state in states.values() for one in state.policies])

    def _look_at(self, path: Path, before: FileState | None) -> FileState:
        kept = before.policies if before is not None else ()
        try:
            text = read_file(path)
        except (OSError, ValueError) as error:
            digest = f"unreadable: {error}"
            if before is None or before.digest != digest:
                self._on_broken(str(path), [unreadable(path, error)])
            return FileState(digest, kept)
        digest = hashlib.sha256(text.encode()).hexdigest()
        if before is not None and before.digest == digest:
            return before
        policies, problems = read_policies(text, str(path), self._library, self._reach)
        if has_errors(problems):
            self._on_broken(str(path), problems)
            return FileState(digest, kept)
        return FileState(digest, tuple(policies))

    def _in_force(self, policies: list[LoadedPolicy]) -> Mapping[tuple[str, str], LoadedPolicy]:
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
            if not any(
                (one.document.file, one.document.value_at(path)) in refused
                for path in (("metadata", "name"), ("spec", "publish", "metric"))
            )
        }


def unreadable(path: Path, error: Exception) -> Problem:
    """The problem of a file that cannot be read."""
    words = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return Problem(
        str(path), Position(), "file-unreadable", f"the file cannot be read: {words}", "make it readable UTF-8"
    )
