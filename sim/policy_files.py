"""Policies and HPAs from files, for the simulator: read, checked, and refused with their problems.

The simulator does not load the adapter's shell, so it reads the bundled presets itself, and of them only the families
that a policy names. Where that finds an error all are read, since the error may be the name of a preset.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from adapter.core.diagnosis import DiagnosisTable
from adapter.core.documents import read_documents
from adapter.core.policy_reading import LoadedPolicy, collisions, read_policies
from adapter.core.presets import PresetFamily, PresetLibrary
from adapter.core.problems import Problem, has_errors
from sim.bundled import bundled_policies
from sim.hpa.manifest import Manifest, read_manifests

MAX_FILE_BYTES = 1_000_000
_FAMILY = re.compile(r"\bpreset:\s*[\"']?([a-z0-9-]+)/")
_GUARD_FAMILIES = ("kube", "dcgm")
"""The families whose events guards bring along."""


class FileRefused(Exception):
    """A file that cannot be used, with every problem of it."""

    def __init__(self, problems: Iterable[Problem] = (), words: str = "") -> None:
        self.problems = tuple(problems)
        super().__init__(words or "\n".join(map(str, self.problems)))


def load_library(families: Iterable[str] | None = None) -> PresetLibrary:
    """The bundled presets of these families, or all."""
    folder = bundled_policies()
    wanted = None if families is None else set(families)
    found = {}
    for path in sorted((folder / "presets").glob("*.yaml")):
        if wanted is None or path.stem in wanted:
            family = PresetFamily.model_validate(_document(path))
            found[family.family] = family
    return PresetLibrary(found, DiagnosisTable.model_validate(_document(folder / "diagnoses.yaml")))


def _document(path: Path) -> object:
    documents, problems = read_documents(path.read_text(encoding="utf-8"), str(path))
    if problems or len(documents) != 1:
        raise FileRefused(tuple(problems), "" if problems else f"{path}: one document expected")
    return documents[0].value


def load_policies(path: Path) -> list[LoadedPolicy]:
    """The policies of a file; FileRefused where one of them is wrong or there is none."""
    return policies_of(read_text(path), str(path))


def policies_of(text: str, file: str) -> list[LoadedPolicy]:
    """The policies of a text; FileRefused as above."""
    families = {*_FAMILY.findall(text), *(_GUARD_FAMILIES if "guards" in text else ())}
    found, problems = read_policies(text, file, load_library(families))
    if has_errors(problems):
        found, problems = read_policies(text, file, load_library())
    problems += collisions(found)
    if has_errors(problems):
        raise FileRefused(tuple(problems))
    if not found:
        raise FileRefused(words=f"{file} has no ScalingPolicy")
    return found


def gpus_per_replica(loaded: LoadedPolicy) -> float:
    """What the policy's budget says, else 1."""
    budget = loaded.policy.spec.publish.budget
    return float(budget.gpus_per_replica) if budget is not None else 1.0


def load_hpas(path: Path) -> list[Manifest]:
    """The HPAs of a file; FileRefused where the API server would not take one."""
    manifests, problems = read_manifests(read_text(path), str(path), scale_to_zero=True)
    if has_errors(problems):
        raise FileRefused(tuple(problems))
    return manifests


def read_text(path: Path) -> str:
    """The text of a file; FileRefused where it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileRefused(words=f"{path}: {error.strerror or error}") from error
    if len(data) > MAX_FILE_BYTES:
        raise FileRefused(words=f"{path} has {len(data)} bytes, at most {MAX_FILE_BYTES} are read")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileRefused(words=f"{path} is no UTF-8 text: {error.reason}") from error
