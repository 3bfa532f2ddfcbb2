"""Policies that came as objects of the API server: read like a file's, with field paths for lines and columns.

An object has no text, so each of its values gets a place of its own (line n is the n-th value), and the place of a
problem is turned back into the path. Bounded in values and depth as a file is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from adapter.core.documents import MAX_DEPTH, MAX_NODES, Document, Path
from adapter.core.policy import API_VERSION, KIND
from adapter.core.policy_reading import LoadedPolicy, read_document
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Position, Problem, has_errors
from adapter.core.reach import Reach

OWN_ANNOTATIONS = "scaleproof.dev/"
MAX_TOLD = 10
MAX_MESSAGE_CHARACTERS = 8000


@dataclass(frozen=True, slots=True)
class ObjectProblem:
    """One problem of an object, by the path of the field that it is about."""

    path: str
    problem: Problem

    def __str__(self) -> str:
        # Most messages begin with the path in the dotted form of `check`; here it stands once, as Kubernetes writes it.
        message = self.problem.message.removeprefix(f"{_dotted(self.path)}: ")
        text = f"{self.path or 'the object'}: {message} [{self.problem.code}]"
        return f"{text}; {self.problem.fix}" if self.problem.fix else text


def object_name(namespace: str, name: str) -> str:
    """What stands for a file's name where the policy is an object."""
    return f"{KIND} {namespace}/{name}"


def policy_of(item: Mapping[str, Any]) -> dict[str, object]:
    """The policy that an object holds: its spec, its name and what the language reads of its metadata.

    What only the API server writes (uid, managedFields, status) is no part of it, so that a change there is none.
    """
    metadata = item.get("metadata") or {}
    annotations = metadata.get("annotations") or {}
    own = {key: value for key, value in annotations.items() if key.startswith(OWN_ANNOTATIONS)}
    kept: dict[str, object] = {"name": metadata.get("name"), "namespace": metadata.get("namespace")}
    if own:
        kept["annotations"] = own
    known = {"metadata", "status", "apiVersion", "kind"}
    others = {key: value for key, value in item.items() if key not in known}
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": kept, **others}


def read_object(
    policy: Mapping[str, object], file: str, library: PresetLibrary, reach: Reach | None = None
) -> tuple[LoadedPolicy | None, list[ObjectProblem]]:
    """The policy, or every problem that refuses it; warnings come with either."""
    places = _Places()
    places.walk(dict(policy), (), 0)
    if places.is_too_large:
        message = f"the object has more than {MAX_NODES} values or is nested deeper than {MAX_DEPTH}"
        return None, [ObjectProblem("spec", Problem(file, Position(), "object-too-large", message, "split it"))]
    document = Document(dict(policy), file, places.values, places.keys, has_lines=False)
    loaded, problems = read_document(document, library, reach)
    told = [ObjectProblem(places.path_at(one.position), one) for one in problems]
    return (None if has_errors(problems) else loaded), told


def words_of(problems: list[ObjectProblem]) -> str:
    """The problems in one text, bounded in number and length."""
    told = "\n".join(map(str, problems[:MAX_TOLD]))
    if len(problems) > MAX_TOLD:
        told += f"\n{len(problems) - MAX_TOLD} more"
    return told if len(told) <= MAX_MESSAGE_CHARACTERS else told[: MAX_MESSAGE_CHARACTERS - 1] + "…"


class _Places:
    """The places of an object's values and keys, and the way back."""

    def __init__(self) -> None:
        self.values: dict[Path, Position] = {}
        self.keys: dict[Path, Position] = {}
        self.is_too_large = False
        self._paths: list[Path] = []

    def walk(self, value: object, path: Path, depth: int) -> None:
        if len(self._paths) >= MAX_NODES or depth > MAX_DEPTH:
            self.is_too_large = True
            return
        self._paths.append(path)
        line = len(self._paths)
        self.values[path] = Position(line, 2)
        if path:
            self.keys[path] = Position(line, 1)
        if isinstance(value, dict):
            for key, one in value.items():
                self.walk(one, (*path, str(key)), depth + 1)
        elif isinstance(value, list):
            for index, one in enumerate(value):
                self.walk(one, (*path, index), depth + 1)

    def path_at(self, position: Position) -> str:
        path = self._paths[position.line - 1] if 0 < position.line <= len(self._paths) else ()
        return field_path(path)


def field_path(path: Path) -> str:
    """A path as Kubernetes writes it: `spec.guards[0].hold_scale_down`."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else step
    return text


def _dotted(path: str) -> str:
    return path.replace("[", ".").replace("]", "")
