"""A finding: what is wrong with an HPA, by its path in the document; where that is in a file is not its business."""

from dataclasses import dataclass

from adapter.core.documents import Path


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason why the API server refuses an HPA (or, as a warning, why it would not do what it looks like)."""

    path: Path
    code: str
    message: str
    fix: str = ""
    at_key: bool = False
    """Whether the key is at fault rather than its value."""
    is_warning: bool = False


def dotted(path: Path) -> str:
    """The path as Kubernetes writes it: spec.metrics[0].external."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")
