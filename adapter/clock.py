"""The one place that reads the clock. Everything else takes `now` as an argument."""

import asyncio
import time


def now() -> float:
    """Epoch seconds."""
    return time.time()


def monotonic() -> float:
    """Seconds that only grow, for deadlines."""
    return time.monotonic()


async def sleep_until(instant: float) -> None:
    """Return when the clock shows the instant or later, never before; a clock that is set back is waited for."""
    while (rest := instant - time.time()) > 0:  # noqa: ASYNC110 - the wall clock gives no event to wait for
        await asyncio.sleep(min(rest, 5.0))
