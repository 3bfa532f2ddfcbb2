"""What the Accept header of a request allows: JSON or not, and which discovery document.

JSON is all this server speaks. A client that names protobuf first (the HorizontalPodAutoscaler does) reads the answer
by its content type, so protobuf in the header means JSON will do. Weights (`q`) are not read, as in Kubernetes.
"""

from collections.abc import Iterator, Mapping

JSON = "application/json"

_JSON_WILL_DO = ("application/json", "application/vnd.kubernetes.protobuf", "application/*", "*/*")
_DISCOVERY_VERSIONS = ("v2", "v2beta1")
_MAX_CLAUSES = 100


def accepts_json(accept: str) -> bool:
    """Whether the plain object can be answered in JSON; a request for a Table or other projection alone cannot."""
    if not accept.strip():
        return True
    return any(kind in _JSON_WILL_DO and "as" not in parameters for kind, parameters in _clauses(accept))


def wants_pretty(accept: str) -> bool:
    """Whether a clause carries `pretty=1` or `pretty=true`."""
    return any(parameters.get("pretty", "") in ("1", "true") for _, parameters in _clauses(accept))


def discovery_version(accept: str) -> str | None:
    """The version of the aggregated discovery document that is asked for first, if any is."""
    for _, parameters in _clauses(accept):
        if parameters.get("as") == "APIGroupDiscoveryList" and parameters.get("g") == "apidiscovery.k8s.io":
            version = parameters.get("v", "")
            if version in _DISCOVERY_VERSIONS:
                return version
    return None


def discovery_content_type(version: str) -> str:
    """The content type by which clients know an aggregated discovery document."""
    return f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"


def _clauses(accept: str) -> Iterator[tuple[str, Mapping[str, str]]]:
    for clause in accept.split(",")[:_MAX_CLAUSES]:
        kind, *rest = (part.strip() for part in clause.split(";"))
        pairs = (part.partition("=") for part in rest)
        yield kind.lower(), {key.strip(): value.strip() for key, _, value in pairs}
