"""Wording: numbers of an account as people read them, and the lines to paste into a second terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

_GIB = 1024**3
_BARS = "▁▂▃▄▅▆▇█"


def amount(value: float | None, unit: str) -> str:
    """A total of an input: 22.5 per second, 41.3 GiB, 0.731."""
    if value is None:
        return "–"
    match unit:
        case "bytes":
            return f"{value / _GIB:.2f} GiB"
        case "per_second":
            return f"{value:.1f}/s"
        case "ratio":
            return f"{value:.3f}"
        case "seconds":
            return f"{value:.3g} s"
        case _:
            return f"{value:g}"


def spread(one: Mapping[str, Any]) -> str:
    """From the smallest pod to the largest."""
    if one["smallest"] is None:
        return "–"
    return f"{amount(one['smallest'], one['unit'])} … {amount(one['largest'], one['unit'])}"


def replicas(value: float | None) -> str:
    """A number of replicas; a bound that is missing from an interval is no bound."""
    return "∞" if value is None else f"{value:.3f}"


def clock(seconds: float) -> str:
    """A place in the trace, hours and all."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def bars(values: Sequence[float | None], top: float, width: int) -> str:
    """The last values as bars from 0 to `top`; where there was none stands a gap."""
    shown = values[-width:]
    steps = len(_BARS) - 1
    return "".join(" " if one is None else _BARS[min(steps, int(steps * one / top + 0.5))] for one in shown)


def paste_lines(url: str, metrics: Sequence[tuple[str, str]]) -> list[str]:
    """Commands for a second terminal: each metric with curl, and the first once more with kubectl.

    kubectl asks for a user's name where it has no credentials at all, so it gets a token, which nobody looks at here.
    """
    paths = [f"/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{metric}" for namespace, metric in metrics]
    lines = [f"curl -sk {url}{path}" for path in paths]
    lines += [f"kubectl --server {url} --insecure-skip-tls-verify --token demo get --raw {path}" for path in paths[:1]]
    return lines


def folded(command: str, width: int) -> list[str]:
    """A command in lines that fit and can be pasted as they stand: a backslash joins them, so nothing is indented."""
    lines = []
    while len(command) > width:
        room = command[: width - 1]
        cut = max(room.rfind(" "), room.rfind("/")) + 1 or len(room)
        lines.append(command[:cut] + "\\")
        command = command[cut:]
    return [*lines, command]
