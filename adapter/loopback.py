"""Loopback: whether a plain HTTP request was made on this machine, or in this Pod, by somebody who meant it.

`kubectl port-forward` ends on the Pod's loopback, so the address of the peer tells. Two more things also come from
there and are not meant. A proxy beside the process (a service mesh) passes on what anybody sent; it says so in headers
or keeps the name the client asked for. A web site can point its own name at 127.0.0.1 (DNS rebinding) and have a
browser read the answer; then Host is that name. So Host has to be a name of loopback, and no header one of a proxy.
"""

from collections.abc import Mapping
from ipaddress import ip_address

_PROXY_HEADERS = ("forwarded", "via", "x-real-ip", "x-request-id")
_PROXY_PREFIXES = ("x-forwarded-", "x-envoy-", "x-b3-", "l5d-")


def is_from_loopback(peer: str | None, headers: Mapping[str, str]) -> bool:
    """Whether peer, Host and headers are those of somebody on loopback who asks for loopback."""
    if not _is_loopback(peer or "") or not _is_loopback(_host(headers.get("Host", ""))):
        return False
    names = [name.lower() for name in headers]
    return not any(name in _PROXY_HEADERS or name.startswith(_PROXY_PREFIXES) for name in names)


def _host(value: str) -> str:
    """The host of a Host header, without port and brackets."""
    if value.startswith("["):
        return value[1:].partition("]")[0]
    return value.partition(":")[0]


def _is_loopback(address: str) -> bool:
    if address.lower() == "localhost":
        return True
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    mapped = getattr(parsed, "ipv4_mapped", None)  # a dual-stack socket tells 127.0.0.1 as ::ffff:127.0.0.1
    return bool((mapped or parsed).is_loopback)
