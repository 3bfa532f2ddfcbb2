"""Policy reading: from the text of a file to policies that can run, or problems with their place in the file.

Strict: an unknown or doubled key, a value out of range or a name that nothing defines refuses the document, and all
problems of a file come in one go. Pure: it gets text and the preset library, never a path to open.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from pydantic import BaseModel, ValidationError

from adapter.core.documents import MAX_PROBLEMS, Document, Path, read_documents
from adapter.core.plans import PolicyPlan
from adapter.core.policy import API_VERSION, KIND, Capacity, Guard, Hold, Metadata, Policy, Publish, Spec
from adapter.core.policy_checks import check_policy
from adapter.core.policy_inputs import MissingRule, PresetInput, QueryInput, ReplicasPreset, ReplicasQuery
from adapter.core.policy_terms import TERM_KINDS, Drain, UpDown
from adapter.core.presets import PresetLibrary
from adapter.core.problems import Position, Problem, has_errors
from adapter.core.reach import Reach, bind_plan
from adapter.core.rules import Rules


@dataclass(frozen=True, slots=True)
class LoadedPolicy:
    """A policy that passed every check, with its plan and where it stands."""

    policy: Policy
    plan: PolicyPlan
    rules: Rules
    document: Document


def read_policies(
    text: str, file: str, library: PresetLibrary, reach: Reach | None = None
) -> tuple[list[LoadedPolicy], list[Problem]]:
    """All policies of a text, bound to what a server lets them read; a document with an error is not among them."""
    documents, problems = read_documents(text, file, keep_broken=True)
    loaded = []
    for document in documents:
        if _is_foreign(document.value):
            continue
        if len(problems) >= MAX_PROBLEMS:
            message = f"the file has {MAX_PROBLEMS} problems and more, the rest of it is not judged"
            place = document.value_at(())
            problems.append(Problem(file, place, "too-many-problems", message, "put the first ones right"))
            break
        found, wrong = read_document(document, library, reach)
        problems += wrong
        if found is not None and not document.is_broken:
            loaded.append(found)
    if not documents and not problems:
        message = "the file has no document"
        problems.append(Problem(file, Position(), "empty-file", message, f"write a {KIND} ({API_VERSION})"))
    return loaded, sorted(problems, key=lambda problem: problem.position)


def _is_foreign(value: object) -> bool:
    """Whether a document says that it is something else, such as an HPA beside its policy: not ours to judge."""
    if not isinstance(value, dict):
        return False
    version, kind = value.get("apiVersion"), value.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        return False
    own = ("PresetFamily", "PresetSamples", "DiagnosisTable")
    return kind in own or (kind != KIND and not version.startswith("scaleproof.dev/"))


def read_document(
    document: Document, library: PresetLibrary, reach: Reach | None = None
) -> tuple[LoadedPolicy | None, list[Problem]]:
    """The policy of one document, bound to what a server lets it read, and its problems; none where it cannot run."""
    try:
        policy = Policy.model_validate(document.value)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        found: dict[tuple[Path, str], Problem] = {}
        for one in errors[:MAX_PROBLEMS]:
            problem = _problem(document, one)
            # A union that fits nothing is reported once a member; the first says enough.
            found.setdefault((_yaml_path(document.value, one["loc"]), problem.code), problem)
        if len(errors) > MAX_PROBLEMS:
            message = f"the document has {len(errors)} problems, {MAX_PROBLEMS} of them are told"
            last = max(one.position for one in found.values())
            more = Problem(document.file, last, "too-many-problems", message, "put the first ones right")
            return None, [*found.values(), more]
        return None, list(found.values())
    plan, rules, problems = check_policy(policy, document, library)
    if plan is None or rules is None or has_errors(problems):
        return None, problems
    if reach is not None:
        plan, beyond = bind_plan(plan, document, reach)
        problems += beyond
        if has_errors(beyond):
            return None, problems
    return LoadedPolicy(policy, plan, rules, document), problems


def _problem(document: Document, error: Mapping[str, Any]) -> Problem:
    path = _yaml_path(document.value, error["loc"])
    kind = error["type"]
    where = ".".join(str(step) for step in path) or "the document"
    if kind == "extra_forbidden":
        return _unknown_key(document, path, error["loc"])
    if kind == "missing":
        parent = ".".join(str(step) for step in path[:-1]) or "the document"
        message = f"{path[-1]} is required in {parent}"
        fix = REQUIRED.get(str(path[-1]), f"add {path[-1]}")
        return Problem(document.file, document.value_at(path[:-1]), "required-key", message, fix)
    context = error.get("ctx") or {}
    fix = str(context.get("fix", "")) or FORMS.get(kind, "")
    is_own = "fix" in context or kind in FORMS
    code = kind if is_own else "value-invalid"
    message = str(error["msg"]).replace("valid tuple", "list").replace("valid dictionary", "mapping")
    message = _MODEL_NAME.sub("", message)
    if not is_own:
        message = f"{_shown(error.get('input'))}: {message[0].lower()}{message[1:]}"
    return Problem(document.file, document.value_at(path), code, f"{where}: {message}", fix)


_MODEL_NAME = re.compile(r"(?<=a mapping) or instance of \w+")
"""What pydantic says of its models is nothing that a policy knows."""

FORMS = {
    "input-source": "write preset: FAMILY/NAME with match, or query: with unit",
    "term-kind": "write one rule per term, e.g. {utilization: gpu, target: 70%}",
}

REQUIRED = {
    "target": "write e.g. target: 70%",
    "unit": "write unit: count, ratio, percent, bytes, seconds, per_second or celsius",
    "publish": "write publish: {metric: NAME}",
    "metric": "write the name that the HPA asks for",
    "namespace": "write the namespace of the workload and its HPA",
    "keep_free": "write e.g. keep_free: 35%",
    "per_replica": "write how many requests in flight one replica should hold",
}


def _shown(value: object) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return f'"{text[:60]}"'


def _yaml_path(value: object, location: Sequence[str | int]) -> Path:
    """The location without the union tags that pydantic puts in and the YAML does not have."""
    path: list[str | int] = []
    current = value
    for index, step in enumerate(location):
        is_last = index == len(location) - 1
        if isinstance(current, dict):
            if step not in current:
                if is_last and step not in TAGS and not str(step).startswith("<"):
                    path.append(step)
                continue
            path.append(step)
            current = current[step]
        elif isinstance(current, list) and isinstance(step, int) and step < len(current):
            path.append(step)
            current = current[step]
    return tuple(path)


TAGS = {"float", "str", "UpDown"}

MISPLACED = {
    "max_replicas": "the limit stands in publish.ceiling, and in maxReplicas of the HPA",
    "maxReplicas": "the limit stands in publish.ceiling, and in maxReplicas of the HPA",
    "min_replicas": "the limit stands in publish.floor, and in minReplicas of the HPA",
    "minReplicas": "the limit stands in publish.floor, and in minReplicas of the HPA",
    "ceiling": "it belongs under spec.publish",
    "floor": "it belongs under spec.publish",
    "metric": "it belongs under spec.publish",
    "threshold": "the target stands in a term, e.g. {utilization: INPUT, target: 70%}",
    "target": "the target stands in a term, e.g. {utilization: INPUT, target: 70%}",
    "rate_per_replica": "it belongs under spec.capacity",
    "cold_start": "it belongs under spec.capacity",
    "name": "it belongs under metadata",
    "namespace": "it belongs under metadata",
}


def _unknown_key(document: Document, path: Path, location: Sequence[str | int]) -> Problem:
    key = str(path[-1])
    parent = ".".join(str(step) for step in path[:-1]) or "the document"
    model = _model_at(location[:-1])
    allowed = sorted(field.alias or name for name, field in model.model_fields.items()) if model else []
    close = get_close_matches(key, allowed, n=1)
    if key in MISPLACED:
        fix = f"remove it; {MISPLACED[key]}"
    elif close:
        fix = f"did you mean {close[0]}?"
    else:
        fix = f"remove it; allowed here: {', '.join(allowed)}" if allowed else "remove it"
    message = f'unknown key "{key}" in {parent}'
    return Problem(document.file, document.key_at(path), "unknown-key", message, fix)


_BY_KEY: dict[str, type[BaseModel]] = {
    "metadata": Metadata,
    "spec": Spec,
    "capacity": Capacity,
    "publish": Publish,
    "missing": MissingRule,
    "plus": Drain,
    "hold_scale_down": Hold,
    "hold_scale_up": Hold,
    "guards": Guard,
    "keep_free": UpDown,
}


def _model_at(location: Sequence[str | int]) -> type[BaseModel] | None:
    """The model that a location of an error lies in."""
    if not location:
        return Policy
    words = [step for step in location if isinstance(step, str)]
    tag = words[-1].strip("<>")
    if not words[-1].startswith("<"):
        return _BY_KEY.get(tag)
    if "inputs" in words:
        return _INPUT_MODELS.get(tag)
    if "replicas" in words:
        return _REPLICAS_MODELS.get(tag)
    return TERM_KINDS.get(tag)


_INPUT_MODELS: dict[str, type[BaseModel]] = {"preset": PresetInput, "query": QueryInput}
_REPLICAS_MODELS: dict[str, type[BaseModel]] = {"preset": ReplicasPreset, "query": ReplicasQuery}


def collisions(loaded: Sequence[LoadedPolicy]) -> list[Problem]:
    """Policies that claim one name, or one metric of one namespace (names differ in more than case)."""
    problems = []
    names: dict[tuple[str, str], LoadedPolicy] = {}
    metrics: dict[tuple[str, str], LoadedPolicy] = {}
    for one in loaded:
        first = names.setdefault(one.policy.key, one)
        if first is not one:
            message = (
                f"the policy {'/'.join(one.policy.key)} stands twice, first in {_place(first, ('metadata', 'name'))}"
            )
            problems.append(_collision(one, ("metadata", "name"), "duplicate-policy", message, "rename one of the two"))
            continue
        metric = one.policy.spec.publish.metric
        key = (one.policy.metadata.namespace, metric.lower())
        first = metrics.setdefault(key, one)
        if first is not one:
            path = ("spec", "publish", "metric")
            message = f'the metric "{metric}" is published twice in {key[0]}, first in {_place(first, path)}'
            fix = "rename one of the two; the HPA asks for names in lower case, so case does not tell them apart"
            problems.append(_collision(one, path, "duplicate-metric", message, fix))
    return problems


def _place(one: LoadedPolicy, path: Path) -> str:
    if not one.document.has_lines:
        return one.document.file
    position = one.document.value_at(path)
    return f"{one.document.file}:{position.line}:{position.column}"


def _collision(one: LoadedPolicy, path: Path, code: str, message: str, fix: str) -> Problem:
    return Problem(one.document.file, one.document.value_at(path), code, message, fix)
