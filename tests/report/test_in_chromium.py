"""The report in a real Chromium: what stands on it is what the JSON says, on a desk and a phone, by mouse and keys."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Literal

import pytest
from chromium import Chromium, Page, chromium
from policy_folders import write_policy
from typer.testing import CliRunner

from adapter.cli import app

pytestmark = pytest.mark.slow

SIZES = [(1440, "light"), (1440, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture
async def browser(tmp_path: Path) -> AsyncIterator[Chromium]:
    async with chromium(tmp_path) as running:
        yield running


@pytest.fixture
def told(tmp_path: Path) -> dict[str, Any]:
    """An hour: 30 requests in flight, 60 from the 30th minute on; a replica takes 10, in the baseline 5."""
    rows = "".join(f"{15 * row},{60 if row >= 120 else 30}\n" for row in range(241))
    (tmp_path / "hour.csv").write_text(f"t_s,flight\n{rows}")
    policy, other = write_policy(tmp_path / "run"), write_policy(tmp_path / "other", per_replica=5)
    arguments = ["replay", "--policy", policy / "chat.yaml", "--hpa", policy / "chat.hpa.yaml"]
    arguments += ["--trace", tmp_path / "hour.csv", "--startup", "60s", "--output", "json", "--replicas", "3"]
    base = CliRunner().invoke(app, [str(one) for one in [*arguments[:2], other / "chat.yaml", *arguments[3:]]])
    arguments += ["--report", tmp_path / "run.html", "--baseline-policy", other / "chat.yaml"]
    run = CliRunner().invoke(app, [str(one) for one in arguments])
    assert (run.exit_code, base.exit_code) == (0, 0), run.stderr
    return {"run": json.loads(run.stdout), "base": json.loads(base.stdout)}


async def opened(browser: Chromium, folder: Path, width: int = 1440) -> Page:
    page = await browser.new_page(width)
    await page.open((folder / "run.html").as_uri())
    await page.wait_until("document.querySelectorAll('.plot .line').length > 0")
    return page


async def cells(page: Page, name: str) -> dict[str, str]:
    """What the table of scores shows in its column, by the score's name."""
    found = await page.evaluate(
        f"Object.fromEntries([...document.querySelectorAll('[data-{name}]')]"
        f".map(one => [one.dataset.{name}, one.innerText]))"
    )
    return dict(found)


def flat(scores: dict[str, Any]) -> dict[str, float | None]:
    """The scores of the JSON under the names of the page."""
    found = {name: value for name, value in scores.items() if not isinstance(value, dict)}
    found.update(scores["provisioning"])
    for name in ("fixed_at_peak", "fixed_at_mean"):
        found.update({f"{name}.{key}": one for key, one in scores[name].items() if not isinstance(one, dict)})
        found.update({f"{name}.{key}": one for key, one in scores[name]["provisioning"].items()})
    return found


def shown(text: str) -> float | None:
    return None if text == "–" else float(text)


async def test_every_score_on_the_screen_is_that_of_the_json_and_deltas_are_their_difference(
    browser: Chromium, told: dict[str, Any], tmp_path: Path
) -> None:
    page = await opened(browser, tmp_path)
    run, base = flat(told["run"]["scores"]), flat(told["base"]["scores"])
    scores = {name: shown(text) for name, text in (await cells(page, "score")).items()}
    assert len(scores) == 28
    assert scores == pytest.approx({name: run[name] for name in scores}, abs=1e-4, rel=1e-5)
    bases = {name: shown(text) for name, text in (await cells(page, "base")).items()}
    assert bases == pytest.approx({name: base[name] for name in bases}, abs=1e-4, rel=1e-5)
    assert (bases["most_replicas"], scores["most_replicas"]) == (12, 6)
    deltas = await cells(page, "delta")
    assert (deltas["most_replicas"], deltas["flaps"]) == ("−6", "=")
    assert await page.text("h1") == told["run"]["policy"] == "inference/chat"
    assert "Conclusive" in await page.text("#verdict")
    assert page.complaints == []


async def test_keys_and_mouse_move_one_moment_through_plots_strip_and_arithmetic(
    browser: Chromium, told: dict[str, Any], tmp_path: Path
) -> None:
    """The row of 30:00 is seen 18 s later, at the tick of 30:30: 60 ÷ 10 = 6."""
    page = await opened(browser, tmp_path)
    assert await page.text("#at") == "0:30:30: 3 → 6"
    assert "term batch: flight ÷ 10 = 60 ÷ 10 = 6" in await page.texts("#arithmetic li")
    readout = await page.evaluate("document.querySelector('.readout').innerText")
    assert "baseline 12" in readout
    assert "signal 6" in readout
    await page.press("ArrowLeft")
    assert await page.text("#at") == "0:30:15: stays at 3"
    await page.press("Home")
    assert await page.text("#at") == "0:00:30: stays at 3"
    await page.press("ArrowRight")
    assert await page.text("#at") == "0:00:45: stays at 3"
    await page.press("End")
    assert (await page.text("#at")).startswith("1:00:30: stays at 6")
    await page.evaluate("document.querySelector('.plot svg[role=slider]').focus()")
    await page.press("Home")
    assert await page.text("#at") == "0:00:30: stays at 3"
    await page.hover("#strip svg", across=0.75)
    assert (await page.text("#at")).endswith("stays at 6")
    await page.click("#rescales button")
    assert await page.text("#at") == "0:30:30: 3 → 6"
    cursors = await page.evaluate("[...document.querySelectorAll('.cursor')].map(one => one.getAttribute('x1'))")
    assert len(cursors) == 3
    assert len(set(cursors)) == 1
    assert page.complaints == []


@pytest.mark.parametrize(("width", "scheme"), SIZES, ids=lambda one: str(one))
async def test_it_fits_a_desk_and_a_phone_and_asks_the_network_for_nothing(
    browser: Chromium, told: dict[str, Any], tmp_path: Path, width: int, scheme: Literal["light", "dark"]
) -> None:
    page = await opened(browser, tmp_path, width)
    await page.look(width, scheme=scheme)
    await page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert await page.overflowing() == []
    ground = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == {"light": "rgb(246, 247, 249)", "dark": "rgb(15, 18, 22)"}[scheme]
    assert all(one.startswith(("file:", "data:")) for one in page.requests)
    assert page.complaints == []
    await page.screenshot(tmp_path / f"report-{width}-{scheme}.png")  # kept, to be looked at


async def test_on_paper_it_is_light_and_whole(browser: Chromium, told: dict[str, Any], tmp_path: Path) -> None:
    page = await opened(browser, tmp_path)
    await page.look(1440, scheme="dark")
    await page.call("Emulation.setEmulatedMedia", media="print", features=[])
    assert await page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert await page.evaluate("getComputedStyle(document.querySelector('.hint')).display") == "none"
    assert await page.evaluate("getComputedStyle(document.querySelector('.scroll')).maxHeight") == "none"
    printed = await page.call("Page.printToPDF", printBackground=True)
    assert len(printed["data"]) > 10_000
    assert page.complaints == []
