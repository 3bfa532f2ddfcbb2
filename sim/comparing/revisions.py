"""Revisions: the policies, presets and HPAs of a file, a folder or a git ref.

A preset family that a revision carries takes the place of the bundled one, so a change of a preset shows in the
policies that use it. Of git only `ls-tree` and `show` are asked, which change nothing.
"""

import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from adapter.core.documents import read_documents
from adapter.core.policy_reading import LoadedPolicy, read_policies
from adapter.core.presets import PresetFamily, PresetLibrary
from adapter.core.problems import Problem, has_errors
from sim.hpa.manifest import Manifest, read_manifests
from sim.policy_files import FileRefused, load_library, read_text

SUFFIXES = (".yaml", ".yml")
MAX_FILES = 5000
MAX_BYTES = 1_000_000
GIT_SECONDS = 30.0

Key = tuple[str, str]
"""Namespace and name."""


class RevisionError(ValueError):
    """There is no such revision, or git cannot tell it; the message says what was looked for."""


@dataclass(frozen=True, slots=True)
class Revision:
    """What one side of a comparison holds."""

    name: str
    policies: Mapping[Key, LoadedPolicy]
    hpas: tuple[Manifest, ...]

    def hpa_of(self, policy: LoadedPolicy) -> Manifest | None:
        """The HPA of the policy's namespace that asks for its metric."""
        metric = policy.policy.spec.publish.metric.lower()
        own = (one for one in self.hpas if one.namespace == policy.policy.metadata.namespace)
        return next((one for one in own if metric in one.external_metrics), None)


def load_revision(text: str, path: str) -> Revision:
    """A file or folder that exists, else a git ref (REF, read below `path`, or REF:PATH)."""
    files = dict(_files(Path(text)) if Path(text).exists() else _git_files(text, path))
    documents = {name: content for name, content in files.items() if not name.endswith((".test.yaml", ".test.yml"))}
    library = _library(documents)
    policies: dict[Key, LoadedPolicy] = {}
    hpas: list[Manifest] = []
    problems: list[Problem] = []
    for name, content in sorted(documents.items()):
        found, wrong = read_policies(content, name, library)
        problems += [one for one in wrong if has_errors([one])]
        policies.update({one.policy.key: one for one in found})
        if "HorizontalPodAutoscaler" in content:
            manifests, wrong = read_manifests(content, name, scale_to_zero=True)
            problems += [one for one in wrong if has_errors([one])]
            hpas += manifests
    if problems:
        raise FileRefused(problems)
    return Revision(text, policies, tuple(hpas))


def _files(path: Path) -> Iterator[tuple[str, str]]:
    if path.is_file():
        yield str(path), read_text(path)
        return
    found = [one for one in sorted(path.rglob("*")) if one.suffix in SUFFIXES and one.is_file()]
    if len(found) > MAX_FILES:
        raise RevisionError(f"{path} has {len(found)} YAML files, at most {MAX_FILES} are read")
    for one in found:
        yield str(one), read_text(one)


def _git_files(text: str, path: str) -> Iterator[tuple[str, str]]:
    ref, _, own = text.partition(":")
    below = own or path
    if ref.startswith("-"):
        raise RevisionError(f'"{text}" is no file, folder or git ref')
    listed = _git("ls-tree", "-r", "--name-only", "-z", "--full-tree", ref, "--", below, what=text)
    names = [name for name in listed.split("\0") if name.endswith(SUFFIXES)]
    if not names:
        raise RevisionError(f"{ref} has no YAML file below {below}; say with --path, or as {ref}:PATH, where they are")
    if len(names) > MAX_FILES:
        raise RevisionError(f"{text} has {len(names)} YAML files, at most {MAX_FILES} are read")
    for name in names:
        yield f"{ref}:{name}", _git("show", f"{ref}:{name}", what=text)


def _git(*arguments: str, what: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, timeout=GIT_SECONDS, check=False)  # noqa: S603, S607 - git by its name
    except (OSError, subprocess.TimeoutExpired) as error:
        message = f'"{what}" is no file or folder, and git could not be asked: {error}'
        raise RevisionError(message) from error
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RevisionError(f'"{what}" is no file or folder, and git says: {words[0] if words else "nothing"}')
    if len(done.stdout) > MAX_BYTES:
        raise RevisionError(f"git gave {len(done.stdout)} bytes for {what}, at most {MAX_BYTES} are read")
    return done.stdout.decode("utf-8", "replace")


def _library(files: Mapping[str, str]) -> PresetLibrary:
    """The bundled presets, and over them those that the revision carries."""
    bundled = load_library()
    families = dict(bundled.families)
    for name, content in files.items():
        if "PresetFamily" not in content:
            continue
        documents, problems = read_documents(content, name)
        if problems:
            raise FileRefused(problems)
        for document in documents:
            if isinstance(document.value, dict) and document.value.get("kind") == "PresetFamily":
                try:
                    family = PresetFamily.model_validate(document.value)
                except ValidationError as error:
                    first = error.errors(include_url=False)[0]
                    where = ".".join(map(str, first["loc"]))
                    raise FileRefused(words=f"{name}: {where}: {first['msg']}") from error
                families[family.family] = family
    return PresetLibrary(families, bundled.diagnoses)
