"""The browser that tests of pages use is a real one, and tells what a page does wrong."""

from pathlib import Path

import pytest
from chromium import PageError, chromium

PAGE = """<!doctype html><html lang="en"><head><title>trial</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="data:,"></head>
<body style="margin: 0"><button id="b">press</button>
<div id="wide" style="width: 600px">six hundred</div>
<script>
  console.warn("beware");
  document.querySelector("#b").addEventListener("click", (event) => { event.target.textContent = "pressed"; });
  setTimeout(() => { throw new Error("broken"); }, 0);
</script></body></html>"""


@pytest.mark.slow
async def test_a_page_is_seen_pressed_and_heard(tmp_path: Path) -> None:
    file = tmp_path / "trial.html"
    file.write_text(PAGE)
    async with chromium(tmp_path) as browser:
        page = await browser.new_page()
        await page.open(file.as_uri())
        assert await page.evaluate("document.title") == "trial"
        await page.click("#b")
        assert await page.wait_until("document.querySelector('#b').innerText === 'pressed'")
        assert any("beware" in one for one in page.complaints)
        assert any("broken" in one for one in page.complaints)
        assert page.requests[0] == file.as_uri()
        assert await page.overflowing() == []
        await page.look(390, scheme="dark")
        assert await page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        assert await page.overflowing() == ["DIV. six hundred"]
        assert (await page.screenshot(tmp_path / "trial.png")).read_bytes().startswith(b"\x89PNG")
        with pytest.raises(PageError, match="nowhere"):
            await page.text("#nowhere")
