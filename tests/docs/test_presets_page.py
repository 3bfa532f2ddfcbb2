"""The page on presets says what the data says."""

from pathlib import Path

from preset_page import page

PAGE = Path(__file__).parents[2] / "docs/presets.md"


def test_the_page_is_made_from_the_presets() -> None:
    assert PAGE.read_text() == page(), "run: python tests/support/preset_page.py > docs/presets.md"
