"""A real Chromium without a window, for tests of pages: opened, looked at, pressed, photographed.

Speaks the browser's own DevTools protocol through aiohttp, so that nothing has to be downloaded: the browser is
Debian's `chromium` (`make packages`). Knows nothing of the pages. What a page writes to its console, and what it asks
the network for, is collected from before its first byte on.
"""

import asyncio
import base64
import json
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, Literal

import aiohttp
from child_process import ChildProcess

NAMES = ("chromium", "chromium-browser", "google-chrome")
CALL_SECONDS = 30.0
LOAD_SECONDS = 30.0

FLAGS = (
    "--headless=new",
    "--remote-debugging-port=0",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-proxy-server",  # no proxy of the machine between a test and 127.0.0.1
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",  # containers have 64 MB of it
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
)

KEYS = {
    "Tab": 9,
    "Enter": 13,
    "Escape": 27,
    "End": 35,
    "Home": 36,
    "ArrowLeft": 37,
    "ArrowUp": 38,
    "ArrowRight": 39,
    "ArrowDown": 40,
}


class PageError(AssertionError):
    """A script of a test failed in the page, or what it waited for did not come."""


class Page:
    """One tab. `complaints` are console errors and warnings, exceptions, and resources that did not load."""

    def __init__(self, browser: "Chromium", session: str) -> None:
        self._browser, self._session = browser, session
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self._loaded = asyncio.Event()
        self._width = 0

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call any method of the protocol in this tab."""
        return await self._browser.call(method, self._session, **parameters)

    def heard(self, method: str, parameters: dict[str, Any]) -> None:
        """Take an event in."""
        match method:
            case "Page.loadEventFired":
                self._loaded.set()
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
            case "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                self.complaints.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if parameters["type"] in ("error", "warning", "assert"):
                words = (str(one.get("value", one.get("description"))) for one in parameters["args"])
                self.complaints.append(f"console.{parameters['type']}: {' '.join(words)}")
            case "Log.entryAdded" if parameters["entry"]["level"] in ("error", "warning"):
                entry = parameters["entry"]
                self.complaints.append(f"{entry['level']}: {entry['text']} {entry.get('url', '')}")

    async def open(self, url: str) -> None:
        """Go to a URL (http or file) and wait until it has loaded."""
        self._loaded.clear()
        answer = await self.call("Page.navigate", url=url)
        if "errorText" in answer:
            raise PageError(f"{url}: {answer['errorText']}")
        async with asyncio.timeout(LOAD_SECONDS):
            await self._loaded.wait()

    async def look(self, width: int, height: int = 900, scheme: Literal["light", "dark"] = "light") -> None:
        """Take the size of a screen and the colours that its user prefers; below 600 px it is a phone."""
        is_phone = width < 600
        self._width = width
        await self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_phone
        )
        await self.call("Emulation.setTouchEmulationEnabled", enabled=is_phone)
        features = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        await self.call("Emulation.setEmulatedMedia", media="screen", features=features)

    async def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression; a promise is waited for."""
        answer = await self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise PageError(f"{expression}: {details.get('exception', {}).get('description') or details['text']}")
        return answer["result"].get("value")

    async def wait_until(self, expression: str, timeout_seconds: float = 20.0) -> Any:
        """Wait until an expression is true; its value."""
        deadline = asyncio.get_running_loop().time() + timeout_seconds
        while not (value := await self.evaluate(expression)):
            if asyncio.get_running_loop().time() > deadline:
                shown = await self.evaluate("document.body.innerText")
                raise PageError(
                    f"not within {timeout_seconds:g} s: {expression}; complaints {self.complaints}; {shown}"
                )
            await asyncio.sleep(0.05)
        return value

    async def text(self, selector: str) -> str:
        """What a user reads in the first element that a CSS selector finds."""
        found = await self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")
        if found is None:
            raise PageError(f"no element {selector}")
        return str(found)

    async def texts(self, selector: str) -> list[str]:
        """What a user reads in each element that a CSS selector finds."""
        expression = f"[...document.querySelectorAll({json.dumps(selector)})].map(one => one.innerText)"
        return [str(one) for one in await self.evaluate(expression)]

    async def press(self, key: str) -> None:
        """Press and release a key, by its name in KEYS."""
        text = {"text": "\r"} if key == "Enter" else {}  # without it no button is pressed
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            about = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key], **text}
            await self.call("Input.dispatchKeyEvent", type=kind, **about)

    async def type(self, text: str) -> None:
        """Type into what has the focus."""
        await self.call("Input.insertText", text=text)

    async def hover(self, selector: str, across: float = 0.5, down: float = 0.5) -> None:
        """Put the mouse over an element, at a share of its width and height."""
        x, y = await self._place(selector, across, down)
        await self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    async def click(self, selector: str) -> None:
        """Click into the middle of an element."""
        x, y = await self._place(selector, 0.5, 0.5)
        for kind in ("mousePressed", "mouseReleased"):
            await self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    async def _place(self, selector: str, across: float, down: float) -> tuple[float, float]:
        box = await self.evaluate(
            f"(() => {{ const one = document.querySelector({json.dumps(selector)}); if (!one) return null;"
            " one.scrollIntoView({block: 'center'}); const box = one.getBoundingClientRect();"
            " return [box.left, box.top, box.width, box.height]; })()"
        )
        if box is None:
            raise PageError(f"no element {selector}")
        left, top, width, height = box
        return left + across * width, top + down * height

    async def overflowing(self) -> list[str]:
        """What makes the page wider than its screen; an empty list where nobody has to scroll sideways.

        Held against the width that was asked for: a phone's own `innerWidth` grows with a page that is too wide.
        """
        wide = await self.evaluate("document.documentElement.scrollWidth")
        if wide <= self._width:
            return []
        found: list[str] = await self.evaluate(
            "[...document.querySelectorAll('body *')]"
            f".filter(one => one.getBoundingClientRect().right > {self._width} + 0.5)"
            ".map(one => one.tagName + '.' + (one.getAttribute('class') ?? '') + ' ' + one.textContent.slice(0, 40))"
        )
        return found or [f"the page is {wide} px wide"]

    async def screenshot(self, file: Path) -> Path:
        """Write a PNG of the whole page, not only of what the screen shows."""
        answer = await self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        await asyncio.to_thread(file.write_bytes, base64.b64decode(answer["data"]))
        return file


class Chromium:
    """A running browser; see `chromium()`."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._pages: dict[str, Page] = {}
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol; PageError if the browser refuses it."""
        number = len(self._answers) + 1
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        future = self._answers[number] = asyncio.get_running_loop().create_future()
        await self._socket.send_json(message)
        async with asyncio.timeout(CALL_SECONDS):
            answer = await future
        if "error" in answer:
            raise PageError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    async def _read(self) -> None:
        async for message in self._socket:
            said = json.loads(message.data)
            if "id" in said:
                if not self._answers[said["id"]].done():
                    self._answers[said["id"]].set_result(said)
            elif page := self._pages.get(said.get("sessionId", "")):
                page.heard(said["method"], said["params"])

    async def new_page(self, width: int = 1440, scheme: Literal["light", "dark"] = "light") -> Page:
        """An empty tab that is listened to."""
        target = await self.call("Target.createTarget", url="about:blank")
        attached = await self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        page = self._pages[attached["sessionId"]] = Page(self, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            await page.call(f"{domain}.enable")
        await page.look(width, scheme=scheme)
        return page

    async def close(self) -> None:
        """Stop listening."""
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading


@asynccontextmanager
async def chromium(folder: Path) -> AsyncIterator[Chromium]:
    """A browser with an empty profile in the folder, ended with the context."""
    executable = next(filter(None, map(shutil.which, NAMES)), None)
    if executable is None:
        raise FileNotFoundError(f"none of {', '.join(NAMES)} is on PATH: run `make packages`")
    profile = folder / "chromium"
    profile.mkdir()
    # As root, as in most containers, Chromium refuses to start with its sandbox; the pages are our own.
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
    arguments = [executable, *FLAGS, *sandbox, f"--user-data-dir={profile}", "about:blank"]
    child = ChildProcess(arguments, folder / "chromium.log", {"HOME": str(folder)})
    try:
        said = profile / "DevToolsActivePort"

        def ready() -> list[str]:
            lines = said.read_text().splitlines()
            return lines if len(lines) == 2 else []

        port, path = await asyncio.to_thread(child.wait_until, ready, "Chromium listens", 60)
        async with (
            aiohttp.ClientSession() as session,
            session.ws_connect(f"http://127.0.0.1:{port}{path}", max_msg_size=0) as socket,
        ):
            browser = Chromium(socket)
            try:
                yield browser
            finally:
                await browser.close()
    finally:
        await asyncio.to_thread(child.kill)
