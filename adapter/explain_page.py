"""The page that explains: one HTML document with its style and script inside, which asks only where it came from.

The parts are files beside this module (`pages/`); some of them serve other pages too. The policy that browsers hold the
page to names the very style and script by their digests, so that no text that came from Prometheus can ever run.
"""

import hashlib
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path

PARTS = Path(__file__).parent / "pages"


@dataclass(frozen=True, slots=True)
class Page:
    """A document and the Content-Security-Policy to send with it."""

    body: bytes
    content_security_policy: str


def explain_page() -> Page:
    """The page, put together."""
    style = "\n".join(_part(name) for name in ("colours.css", "explain.css"))
    script = "\n".join(_part(name) for name in ("plot.js", "account.js", "explain.js"))
    html = _part("explain.html").replace("/* style */", style).replace("/* script */", script)
    policy = (
        f"default-src 'none'; style-src {_digest(style)}; script-src {_digest(script)}; connect-src 'self';"
        " img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Page(html.encode(), policy)


def _part(name: str) -> str:
    return (PARTS / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
