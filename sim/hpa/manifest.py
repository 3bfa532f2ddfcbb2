"""HPA manifests: autoscaling/v2 YAML into the model, or problems with file, line and column.

Refused is what the API server refuses, by strict decoding or by validation; what it accepts but would not do what it
looks like is a warning. Documents of other kinds are passed over, so a file may hold the Deployment too. A metric the
model does not have (Resource, ContainerResource) is no problem of the manifest: `Manifest.spec` refuses it by name.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from adapter.core.documents import Document, Path, read_documents
from adapter.core.problems import Position, Problem, Severity, has_errors
from sim.hpa.findings import Finding, dotted
from sim.hpa.manifest_fields import decode
from sim.hpa.manifest_rules import check_spec
from sim.hpa.manifest_spec import spec_of
from sim.hpa.metadata_rules import check_metadata
from sim.hpa.spec import Spec

API_VERSION = "autoscaling/v2"
KIND = "HorizontalPodAutoscaler"

_YAML_1_1_BOOLEANS = frozenset(
    word for base in ("y", "n", "yes", "no", "on", "off") for word in (base, base.capitalize(), base.upper())
)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One valid HorizontalPodAutoscaler of a file."""

    namespace: str
    name: str
    target_kind: str
    target_name: str
    position: Position
    fields: Mapping[str, Any] = field(repr=False)

    @property
    def external_metrics(self) -> tuple[str, ...]:
        """The External metrics that it asks for, in lower case, in their order."""
        metrics = self.fields.get("metrics") or []
        return tuple(one["external"]["metric"]["name"].lower() for one in metrics if one.get("type") == "External")

    def spec(self) -> Spec:
        """The spec for the model; NotModelledError names a metric source that it does not have."""
        return spec_of(self.fields)


def read_manifests(
    text: str, file: str, scale_to_zero: bool = False, configurable_tolerance: bool = True
) -> tuple[list[Manifest], list[Problem]]:
    """All HPAs of a text that the API server would accept, and all problems of those it would not."""
    documents, problems = read_documents(text, file)
    lines = text.splitlines()
    manifests: list[Manifest] = []
    seen = False
    for document in documents:
        fields = document.value
        if not isinstance(fields, dict):
            problems.append(_problem(document, Finding((), "not-an-object", "the document is not a mapping", "")))
            continue
        if fields.get("kind") != KIND:
            continue
        seen = True
        findings = _findings(fields, document, lines, scale_to_zero, configurable_tolerance)
        found = [_problem(document, finding) for finding in findings]
        problems += found
        if not has_errors(found):
            manifests.append(_manifest(fields, document))
    if not seen and not problems:
        message = f"the file has no {KIND}"
        problems.append(Problem(file, Position(), "no-hpa", message, f"write apiVersion: {API_VERSION}, kind: {KIND}"))
    return manifests, problems


def _findings(
    fields: Mapping[str, Any], document: Document, lines: list[str], scale_to_zero: bool, configurable_tolerance: bool
) -> Iterator[Finding]:
    if fields.get("apiVersion") != API_VERSION:
        message = f'apiVersion is "{fields.get("apiVersion")}", only {API_VERSION} is read'
        yield Finding(("apiVersion",), "api-version", message, f"write {API_VERSION}")
        return
    decoding = [*decode(fields, KIND), *_booleans(fields, document, lines)]
    yield from decoding
    if decoding:
        return  # what does not decode is never validated, there or here
    yield from check_metadata(fields.get("metadata") or {})
    spec = fields.get("spec") or {}
    refused = list(check_spec(spec, scale_to_zero, configurable_tolerance))
    yield from refused
    if not refused:
        yield from _warnings(spec)


def _booleans(value: object, document: Document, lines: list[str], path: Path = ()) -> Iterator[Finding]:
    """Plain words that the API server's YAML 1.1 reader takes for true or false: `name: on` is no text there."""
    if isinstance(value, dict):
        for key, element in value.items():
            yield from _booleans(element, document, lines, (*path, key))
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from _booleans(element, document, lines, (*path, index))
    elif isinstance(value, str) and value in _YAML_1_1_BOOLEANS:
        at = document.value_at(path)
        if lines[at.line - 1][at.column - 1 :].startswith(value):
            message = f"{dotted(path)} is {value} without quotes, which the API server reads as a boolean"
            yield Finding(path, "wrong-type", message, f'write "{value}"')


def _warnings(spec: Mapping[str, Any]) -> Iterator[Finding]:
    """What validation lets pass although the controller does something else than the manifest says."""
    for index, metric in enumerate(spec.get("metrics") or []):
        name = {"External": "external", "Object": "object"}.get(metric["type"])
        target = metric[name]["target"] if name else {}
        fields = {"Value": target.get("value"), "AverageValue": target.get("averageValue")}
        if name is None or fields.get(target["type"]) is not None:
            continue
        fitting = next(kind for kind, value in fields.items() if value is not None)
        does = f"the controller goes by the field for {fitting}" if name == "external" else "the metric always fails"
        path = ("spec", "metrics", index, name, "target", "type")
        message = f"{dotted(path)} is {target['type']}, but that field is not set: {does}"
        yield Finding(path, "target-type", message, f"write {fitting}", is_warning=True)


def _problem(document: Document, finding: Finding) -> Problem:
    position = document.key_at(finding.path) if finding.at_key else document.value_at(finding.path)
    severity = Severity.WARNING if finding.is_warning else Severity.ERROR
    return Problem(document.file, position, finding.code, finding.message, finding.fix, severity)


def _manifest(fields: Mapping[str, Any], document: Document) -> Manifest:
    metadata, spec = fields["metadata"], fields["spec"]
    target = spec["scaleTargetRef"]
    return Manifest(
        metadata.get("namespace") or "default",
        metadata.get("name") or metadata["generateName"],
        target["kind"],
        target["name"],
        document.value_at(()),
        spec,
    )
