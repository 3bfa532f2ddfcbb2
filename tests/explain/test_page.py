"""The page in a real Chromium: what stands on it is what the API says, on a desk and a phone, in light and dark."""

from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import pytest
from adapter_process import AdapterProcess
from chromium import Chromium, Page, chromium
from explained_hour import HOSTILE
from fake_prometheus import FakePrometheus, answering
from grid_policies import policy_text

from adapter.board import Board
from adapter.own_endpoint import OwnEndpoint

pytestmark = pytest.mark.slow

CHAT = "prod/chat/"
SIZES = [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Chromium]:
    async with chromium(tmp_path) as running:
        yield running


async def opened(browser: Chromium, url: str, chosen: str = "", width: int = 1440) -> Page:
    """The page with a signal chosen, once it is shown."""
    page = await browser.new_page(width)
    await page.open(f"{url}/#{chosen}")
    await page.wait_until("document.querySelectorAll('#signals button').length > 0")
    if chosen:
        await page.wait_until("document.querySelector('.headline') !== null")
    return page


async def told(page: Page, **parameters: str) -> dict[str, Any]:
    """What /explain says, asked for by the page itself."""
    query = "&".join(f"{name}={value}" for name, value in parameters.items())
    document: dict[str, Any] = await page.evaluate(f"fetch('explain?{query}').then(answer => answer.json())")
    return document


async def tiles(page: Page) -> dict[str, str]:
    names, words = await page.texts("dl.tiles dt"), await page.texts("dl.tiles dd")
    return dict(zip(names, words, strict=True))


def number(value: float) -> str:
    """Up to six digits, as on the page."""
    return f"{value:.6g}"


async def test_what_is_shown_is_what_the_api_says(browser: Chromium, url: str) -> None:
    page = await opened(browser, url, CHAT)
    (signal,) = (await told(page, policy="chat", history="true"))["signals"]
    why = signal["why"]
    assert await page.text(".headline") == signal["headline"]
    shown = await tiles(page)
    assert shown["value"] == signal["value"] == "5"
    assert shown["U, needed"] == number(why["up"]) == "2.0585"
    assert shown["D, justified"] == number(why["down"]) == "5"
    assert shown["N, replicas"] == f"{number(why['n'])} {why['ready']} ready"
    assert shown["oldest sample"] == "19 s ago"  # offset 18 s, and the sample was 1 s old then
    assert await page.texts(".arithmetic") == [term["text"] for term in why["terms"]]
    assert [float(words) for words in (await page.texts("td[data-label=U]"))] == [2.0585, 1.91429]
    assert await page.texts("td[data-label=sum]") == ["20.585", "1.34", "4.85", "62.5 GiB"]
    assert (await page.texts(".below li.bad")) == [f"{why['guards'][0]['text']} (nothing may go)"]
    changes = await page.texts("section:last-child tbody tr")
    assert len(changes) == len(signal["changes"])
    assert "no value → 9" in changes[6]
    assert page.complaints == []


async def test_the_plot_says_what_is_under_the_mouse_and_under_the_arrow_keys(browser: Chromium, url: str) -> None:
    page = await opened(browser, url, CHAT)
    (signal,) = (await told(page, policy="chat", history="true"))["signals"]
    history = signal["history"]
    assert await page.text("section h3") == "The last hour"

    async def readout() -> list[str]:
        return (await page.texts(".readout b"))[1:]

    assert await readout() == ["5", "5", "2.0585 – 5", "none here"]
    await page.evaluate("document.querySelector('.plot svg').focus()")
    await page.press("Home")
    assert await readout() == ["3", number(history["value"][0]), "3 – 3", "none here"]
    for _ in range(100):
        await page.press("ArrowRight")
    assert await readout() == ["8", "–", "0 – ∞", "upstream-error"]  # the first tick of the outage
    text = await page.evaluate("document.querySelector('.plot svg').getAttribute('aria-valuetext')")
    assert "upstream-error" in text
    await page.press("End")
    assert await readout() == ["5", "5", "2.0585 – 5", "none here"]
    await page.hover(".plot svg", across=0.6)
    value = float((await readout())[1])
    place = min(range(240), key=lambda one: abs((history["value"][one] or 0) - value))
    assert 130 < place < 160  # 0.6 of the width, less the scale's margin, is 0.58 of the hour: tick 139
    assert page.complaints == []


async def test_a_fleet_is_filtered_and_what_has_no_value_comes_first(browser: Chromium, url: str) -> None:
    page = await opened(browser, url)
    names = await page.texts("#signals button")
    assert len(names) == 32
    assert all("empty" in one or "upstream-rejected" in one for one in names[:2])
    assert not any("empty" in one for one in names[2:])
    assert await page.text("#state") == await page.wait_until(
        "document.querySelector('#state').innerText.startsWith('32 signals, 2 without a value') &&"
        " document.querySelector('#state').innerText"
    )
    await page.click("#filter")
    await page.type("fleet m03")
    await page.wait_until("document.querySelectorAll('#signals button').length === 1")
    await page.press("Tab")
    await page.press("Enter")
    await page.wait_until("document.querySelector('h2')?.innerText === 'prod/fleet {model=m03}'")
    assert (await tiles(page))["value"] == "3.29 3290m"
    assert await page.evaluate("location.hash") == "#prod/fleet/model%3Dm03"
    await page.click("#filter")
    await page.type("nothing like it")
    await page.wait_until("document.querySelector('#more').innerText === 'No signal matches the filter.'")
    assert page.complaints == []


@pytest.mark.parametrize(("width", "scheme"), SIZES, ids=lambda one: str(one))
async def test_it_fits_a_desk_and_a_phone_and_complains_of_nothing(
    browser: Chromium, url: str, tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    for place, chosen in enumerate((CHAT, "prod/refused/", "prod/fleet/model%3Dm29", "")):
        page = await opened(browser, url, chosen, width)
        await page.look(width, scheme=scheme)
        await page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert await page.overflowing() == []
        ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(15, 18, 22)"}[scheme]
        assert {urlsplit(one).hostname for one in page.requests if not one.startswith("data:")} == {"127.0.0.1"}
        assert page.complaints == []
        await page.screenshot(tmp_path / f"page-{place}-{width}-{scheme}.png")  # kept, to be looked at


async def test_letters_stand_out_from_their_ground_in_both_schemes(browser: Chromium, url: str) -> None:
    """WCAG's contrast of text: at least 4.5 to 1 for each colour of text on a card and on the page."""
    page = await opened(browser, url, CHAT)
    for scheme in ("light", "dark"):
        await page.look(1440, scheme=scheme)  # type: ignore[arg-type]  # one of the two
        ratios = await page.evaluate(
            """(() => {
              const style = getComputedStyle(document.documentElement);
              const light = (name) => {
                const hex = style.getPropertyValue(name).trim().slice(1);
                const [r, g, b] = [0, 2, 4].map((at) => parseInt(hex.slice(at, at + 2), 16) / 255)
                  .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
                return 0.2126 * r + 0.7152 * g + 0.0722 * b;
              };
              const ratio = (one, other) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
              return ["--ink", "--soft", "--bad", "--good", "--value"].flatMap((text) =>
                ["--card", "--page", "--chosen"].map((ground) => [text, ground, ratio(light(text), light(ground))]));
            })()"""
        )
        assert [one for one in ratios if one[2] < 4.5] == []


async def test_what_prometheus_says_is_shown_and_never_run(browser: Chromium, url: str) -> None:
    page = await opened(browser, url, "prod/refused/")
    assert HOSTILE in await page.text(".headline")
    assert await page.evaluate("document.title") == "scaleproof"
    assert await page.evaluate("document.querySelectorAll('img, article script').length") == 0
    # Even what got into the document would not run: the policy of the page allows its own script alone.
    await page.evaluate("document.body.insertAdjacentHTML('beforeend', `<img src=x onerror=\"document.title='run'\">`)")
    await page.wait_until("document.querySelector('body > img') !== null")
    assert await page.evaluate("document.title") == "scaleproof"
    assert any("Content Security Policy" in one for one in page.complaints)


async def test_an_address_of_what_is_not_served_says_so(browser: Chromium, url: str) -> None:
    for chosen, words in (("prod/gone/", "prod/gone/ is not served now."), ("prod/%e", "prod/%e is not served now.")):
        page = await browser.new_page()
        await page.open(f"{url}/#{chosen}")
        await page.wait_until(f"document.querySelector('#detail').innerText === '{words}'")
        assert page.complaints == []


async def test_an_adapter_that_went_away_is_told_and_what_was_shown_stays(browser: Chromium, hour: Board) -> None:
    endpoint = OwnEndpoint(lambda: b"", hour)
    page = await opened(browser, f"http://127.0.0.1:{await endpoint.start('127.0.0.1', 0)}", CHAT)
    await endpoint.close()
    await page.wait_until("document.querySelector('#state').className === 'bad'")
    assert "cannot read from the adapter" in await page.text("#state")
    assert "what is shown is of" in await page.text("#state")
    assert (await page.text(".headline")).startswith("stays at N 5")


async def test_a_running_adapter_is_followed_as_its_value_changes(
    browser: Chromium, folder: Path, prometheus: FakePrometheus, serve: Callable[[], AdapterProcess]
) -> None:
    (folder / "a.yaml").write_text(policy_text("a"))
    adapter = serve()
    page = await opened(browser, adapter.metrics_url)
    await page.wait_until("document.querySelector('dl.tiles dd')?.innerText === '7'")  # 70 ÷ 10; the only one is shown
    prometheus.default = answering(50)
    await page.wait_until("document.querySelector('dl.tiles dd')?.innerText === '5'")
    await page.wait_until("[...document.querySelectorAll('td.strong')].some(one => one.innerText === '7 → 5')")
    assert (await told(page, policy="a"))["signals"][0]["changes"][0]["after"] == 5
    await page.click("#pause")
    assert await page.text("#pause") == "Go on"
    prometheus.default = answering(90)
    before = len(page.requests)
    await page.evaluate("new Promise(done => setTimeout(done, 5500))")
    assert len(page.requests) == before
    assert (await tiles(page))["value"] == "5"
    await page.click("#pause")
    await page.wait_until("document.querySelector('dl.tiles dd')?.innerText === '9'")
    assert page.complaints == []
