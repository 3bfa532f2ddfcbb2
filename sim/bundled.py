"""Where the bundled policies and presets lie; apart from what reads them, so that asking for it loads nothing."""

from pathlib import Path


def bundled_policies() -> Path:
    """The folder of bundled policies and presets: in a wheel beside the adapter's modules, else in the source tree."""
    root = Path(__file__).parent.parent
    shipped = root / "adapter" / "bundled" / "policies"
    return shipped if shipped.is_dir() else root / "policies"
