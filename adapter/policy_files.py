"""Policy files on disk: which there are at one moment, and their text.

A mounted ConfigMap is swapped while it is read: its files are links through `..data`, which moves from one generation
to the next at once, and the links beside it follow a little later. So a generation is looked up once and listed and
read behind the links; then one look never mixes two. Knows nothing of what the files say.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from adapter.core.problems import Position, Problem

MAX_FILES = 5000
MAX_FILE_BYTES = 1_000_000
MAX_DEPTH = 32
SUFFIXES = (".yaml", ".yml")
TEST_SUFFIXES = (".test.yaml", ".test.yml")
GENERATION = "..data"

Signature = tuple[int, int, int, int]
"""Inode, size, time of content and of inode: what no change of a file leaves as it was, but for one within a tick of
the file system's clock."""


class PolicyFolderError(Exception):
    """The folder itself cannot be read."""


@dataclass(frozen=True, slots=True)
class PolicyFile:
    """One file: the name that its author knows, and where its text of this moment lies."""

    name: str
    place: str
    signature: Signature

    @property
    def changed_at(self) -> float:
        """When it was last changed, in epoch seconds by the clock of its file system."""
        return max(self.signature[2:]) / 1e9


def list_files(path: Path) -> list[PolicyFile]:
    """The YAML files of a folder and those below it, in the order of their names, or the one file that was named.

    Hidden entries are passed over. Links on the way to the folder are followed once, so that a tree that is swapped as
    a whole (git-sync) is read from one version too. FileNotFoundError if it was swapped away meanwhile.
    """
    real = os.path.realpath(path)
    try:
        found = os.stat(real)  # noqa: PTH116
    except OSError as error:
        message = f"{path} does not exist; give a folder with policies, or a policy file"
        raise PolicyFolderError(message) from error
    if stat.S_ISREG(found.st_mode):
        return [PolicyFile(str(path), real, _signature(found))]
    files: list[PolicyFile] = []
    try:
        _list_folder(real, str(path), files, 0)
    except PermissionError as error:
        raise PolicyFolderError(f"{path} cannot be read: {error.strerror}; make it readable") from error
    if len(files) > MAX_FILES:
        raise PolicyFolderError(f"{path} has {len(files)} policy files, at most {MAX_FILES} are read")
    return sorted(files, key=lambda file: file.name.split("/"))


def _list_folder(folder: str, shown: str, files: list[PolicyFile], depth: int) -> None:
    # Before the entries: what they say of an older generation is passed over, what a newer one has is not seen yet.
    link = os.path.join(folder, GENERATION)  # noqa: PTH118 - here and below: thousands of entries each look
    generation = os.path.realpath(link) if os.path.islink(link) else None  # noqa: PTH114
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if generation is not None and entry.is_symlink() and os.readlink(entry.path).startswith(GENERATION):  # noqa: PTH115
                continue
            name = f"{shown}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                if depth < MAX_DEPTH:
                    _list_folder(entry.path, name, files, depth + 1)
            elif entry.name.endswith(SUFFIXES) and not entry.name.endswith(TEST_SUFFIXES):
                _add_file(entry.path, name, files)
    if generation is not None:
        _list_folder(generation, shown, files, depth + 1)


def _add_file(place: str, name: str, files: list[PolicyFile]) -> None:
    try:
        found = os.stat(place)  # noqa: PTH116
    except OSError:
        return  # a link to nothing, or gone since it was listed
    if stat.S_ISREG(found.st_mode):
        files.append(PolicyFile(name, place, _signature(found)))


def _signature(found: os.stat_result) -> Signature:
    return (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)


def policy_files(path: Path) -> list[Path]:
    """The same files by the names that their author knows."""
    return [Path(file.name) for file in list_files(path)]


def read_file(path: Path) -> str:
    """The text of a policy file; OSError or ValueError where there is none."""
    return read_at(str(path))[0]


def read_at(place: str) -> tuple[str, Signature]:
    """The text of a file and its signature after it was read."""
    with open(place, "rb") as stream:  # noqa: PTH123
        data = stream.read(MAX_FILE_BYTES + 1)
        found = os.fstat(stream.fileno())
    if len(data) > MAX_FILE_BYTES:
        raise ValueError(f"the file has {found.st_size} bytes, at most {MAX_FILE_BYTES} are read")
    return data.decode("utf-8"), _signature(found)


def unreadable(path: str | Path, error: Exception) -> Problem:
    """The problem of a file that cannot be read."""
    words = error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
    return Problem(
        str(path), Position(), "file-unreadable", f"the file cannot be read: {words}", "make it readable UTF-8"
    )
