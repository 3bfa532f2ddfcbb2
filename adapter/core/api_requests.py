"""What a request asks for, read from its method and target: the resource, the verb to authorize, the parameters.

Authorization and routing must read a path the same way, or one could be asked about and another served; so it is read
once, here. The path is decoded and then split, as Go's server does, and nothing is normalised: `..`, `//` and `%2F`
mean what they say. What cannot be decoded is refused, never dropped: a selector that is lost selects every series.
Source: k8s.io/apiserver v0.36, `RequestInfoFactory.NewRequestInfo`.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote_to_bytes

_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})")
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "GET": "get", "HEAD": "get"}
MAX_PARAMETERS = 100


class TargetError(ValueError):
    """The request target cannot be read; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class AccessAttributes:
    """What is to be authorized: a verb on a resource, or on a path where `path` is set."""

    verb: str
    path: str = ""
    group: str = ""
    version: str = ""
    namespace: str = ""
    resource: str = ""
    subresource: str = ""
    name: str = ""


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request whose path and query are decoded; of a parameter given twice the first counts, as in Go."""

    method: str
    path: str
    parameters: Mapping[str, str]
    attributes: AccessAttributes

    @property
    def is_watch(self) -> bool:
        """Whether a watch is asked for; as in Kubernetes anything but `false`, `0` and nothing means yes."""
        return _is_watch(self.parameters)


def read_request(method: str, target: str) -> ApiRequest:
    """Read method and raw target of a request line; TargetError if the target is not well-formed."""
    if not target.startswith("/"):
        target = _origin_form(target)
    raw_path, _, raw_query = target.partition("?")
    path = _decode(raw_path, "path")
    parameters = _parameters(raw_query)
    return ApiRequest(method, path, parameters, _attributes(method, path, parameters))


def _origin_form(target: str) -> str:
    """The path of an absolute target (`https://host/path`), which proxies send and servers have to take."""
    scheme, separator, rest = target.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        raise TargetError("the request target must be a path")
    return "/" + rest.partition("/")[2]


def _decode(text: str, what: str) -> str:
    if _BAD_ESCAPE.search(text):
        raise TargetError(f"the {what} holds an invalid percent encoding")
    try:
        decoded = unquote_to_bytes(text.encode("utf-8", "surrogateescape")).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TargetError(f"the {what} is not UTF-8") from error
    if "\0" in decoded:
        raise TargetError(f"the {what} holds a NUL character")
    return decoded


def _parameters(raw_query: str) -> dict[str, str]:
    if ";" in raw_query:
        raise TargetError("the query holds a semicolon; separate parameters with & and write %3B in values")
    pieces = [piece for piece in raw_query.split("&") if piece]
    if len(pieces) > MAX_PARAMETERS:
        raise TargetError(f"the query has {len(pieces)} parameters, at most {MAX_PARAMETERS} are read")
    parameters: dict[str, str] = {}
    for piece in pieces:
        key, _, value = piece.replace("+", " ").partition("=")
        parameters.setdefault(_decode(key, "query"), _decode(value, "query"))
    return parameters


def _is_watch(parameters: Mapping[str, str]) -> bool:
    return "watch" in parameters and parameters["watch"].lower() not in ("false", "0", "")


def _attributes(method: str, path: str, parameters: Mapping[str, str]) -> AccessAttributes:
    """`/apis/{group}/{version}/…` is a resource, anything shorter or elsewhere a path."""
    parts = path.strip("/").split("/")
    if parts[0] != "apis" or len(parts) < 4:
        return AccessAttributes(method.lower(), path=path)
    group, version, *rest = parts[1:]
    verb = _VERBS.get(method, "")
    if rest[0] in ("watch", "proxy") and len(rest) > 1:
        verb, rest = rest[0], rest[1:]
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2:
            # Kubernetes reads `namespaces/x/status` as a subresource of a namespace; here it is the metric `status`,
            # because that is what the router serves.
            rest = rest[2:]
    resource, name, subresource = (*rest[:3], "", "")[:3]
    if not name and verb == "get":
        verb = "watch" if _is_watch(parameters) else "list"
    if not name and verb == "delete":
        verb = "deletecollection"
    return AccessAttributes(verb, "", group, version, namespace, resource, subresource, name)
