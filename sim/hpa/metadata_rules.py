"""Names, labels and annotations: the API server's rules for metadata and for names inside a spec.

Source: k8s.io/apimachinery/pkg/api/validation (objectmeta.go), pkg/api/validate/content, pkg/util/validation.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from adapter.core.documents import Path
from sim.hpa.findings import Finding, dotted
from sim.hpa.manifest_fields import integer_of

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_QUALIFIED = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_MAX_ANNOTATION_BYTES = 256 * 1024
_CONTAINER_RESOURCES = ("cpu", "memory", "ephemeral-storage")


def is_label_key(text: str) -> bool:
    """Whether the text can be a label's key: a name of up to 63 characters, with a DNS prefix or without."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_subdomain(prefix):
        return False
    return len(name) <= 63 and _QUALIFIED.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    """Whether the text can be a label's value: empty, or up to 63 of letters, digits, `-`, `_` and `.`."""
    return len(text) <= 63 and _LABEL_VALUE.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether the text is a DNS subdomain in lower case."""
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_label_name(text: str) -> bool:
    """Whether the text is a single DNS label in lower case, as a namespace or a container is named."""
    return len(text) <= 63 and _LABEL_NAME.fullmatch(text) is not None


def check_path_segment(text: str, path: Path) -> Iterator[Finding]:
    """A name that becomes part of a URL: not `.` or `..`, without `/` and `%`."""
    if text in (".", "..") or "/" in text or "%" in text:
        message = f'{dotted(path)} is "{text}", it must not be "." or ".." nor contain "/" or "%"'
        yield Finding(path, "invalid", message, "choose another name")


def check_container_name(text: str, path: Path) -> Iterator[Finding]:
    """The name of a container."""
    if not is_label_name(text):
        message = f'{dotted(path)} is "{text}", it must be a DNS label of up to 63 characters'
        yield Finding(path, "invalid", message, "write the container's name")


def check_container_resource_name(text: str, path: Path) -> Iterator[Finding]:
    """The name of a resource that a container can request."""
    is_known = text in _CONTAINER_RESOURCES or text.startswith("hugepages-")
    is_extended = "/" in text and not text.startswith("requests.")
    if not is_label_key(text) or not (is_known or is_extended):
        message = f'{dotted(path)} is "{text}", it must be a resource of containers'
        yield Finding(path, "invalid", message, "write cpu, memory or a resource with a domain, e.g. nvidia.com/gpu")


def check_metadata(metadata: Mapping[str, Any]) -> Iterator[Finding]:
    """Every reason why the API server refuses the metadata of a new object; a namespace may be left to the client."""
    path: Path = ("metadata",)
    name, generated = metadata.get("name") or "", metadata.get("generateName") or ""
    if name == "" and generated == "":
        yield Finding((*path, "name"), "required", "metadata.name is required", "name the HPA")
    if name != "" and not is_subdomain(name):
        yield _bad_name((*path, "name"), name)
    masked = generated[:-2] + "a" if len(generated) > 1 and generated.endswith("-") else generated
    if generated != "" and not is_subdomain(masked):
        yield _bad_name((*path, "generateName"), generated)
    namespace = metadata.get("namespace") or ""
    if namespace != "" and not is_label_name(namespace):
        yield _bad_name((*path, "namespace"), namespace)
    if metadata.get("resourceVersion"):
        message = "metadata.resourceVersion belongs to a stored object; kubectl drops it, other clients are refused"
        yield Finding((*path, "resourceVersion"), "forbidden", message, "remove it", at_key=True, is_warning=True)
    if (integer_of(metadata.get("generation")) or 0) < 0:
        yield Finding((*path, "generation"), "invalid", "metadata.generation must not be negative", "remove it")
    yield from _check_labels(metadata, path)
    yield from _check_finalizers_and_owners(metadata, path)


def _bad_name(path: Path, name: str) -> Finding:
    message = f'{dotted(path)} is "{name}", it must be lower-case letters, digits, "-" and (except a namespace) "."'
    return Finding(path, "invalid", message, "choose a DNS name, e.g. llama-70b")


def _check_labels(metadata: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    for key, value in (metadata.get("labels") or {}).items():
        at = (*path, "labels", key)
        if not is_label_key(key):
            yield Finding(
                at, "invalid", f'"{key}" cannot be a label key', "write e.g. app or example.com/app", at_key=True
            )
        if not is_label_value(value or ""):
            message = f'"{value}" cannot be a label value: up to 63 of letters, digits, "-", "_" and "."'
            yield Finding(at, "invalid", message, "shorten it or put it into an annotation")
    annotations = metadata.get("annotations") or {}
    for key in annotations:
        if not is_label_key(key.lower()):
            message = f'"{key}" cannot be an annotation key'
            yield Finding((*path, "annotations", key), "invalid", message, "write e.g. example.com/note", at_key=True)
    size = sum(len(key.encode()) + len((value or "").encode()) for key, value in annotations.items())
    if size > _MAX_ANNOTATION_BYTES:
        message = f"the annotations have {size} bytes, at most {_MAX_ANNOTATION_BYTES} are allowed"
        yield Finding((*path, "annotations"), "invalid", message, "shorten them")


def _check_finalizers_and_owners(metadata: Mapping[str, Any], path: Path) -> Iterator[Finding]:
    for index, name in enumerate(metadata.get("finalizers") or []):
        if not is_label_key(name or ""):
            message = f'"{name}" cannot be a finalizer'
            yield Finding((*path, "finalizers", index), "invalid", message, "write e.g. example.com/cleanup")
    for index, owner in enumerate(metadata.get("ownerReferences") or []):
        for key in ("apiVersion", "kind", "name", "uid"):
            if not (owner or {}).get(key):
                at = (*path, "ownerReferences", index, key)
                yield Finding(at, "required", f"{dotted(at)} is required", "name the owner in full")
