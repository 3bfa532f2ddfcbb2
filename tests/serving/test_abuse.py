"""Memory and service under abuse: a minute in the suite, `--seconds 600` for ten minutes by hand."""

import asyncio
import ssl
import time
from pathlib import Path

import pytest
from abuse import Target, abuse
from raw_http import Connection, client_context

from adapter.benches.credentials import make_credentials
from adapter.benches.processes import Served, running_adapter

pytestmark = pytest.mark.slow

HPA = {"X-Remote-User": "system:serviceaccount:kube-system:horizontal-pod-autoscaler"}
FILL_SECONDS = 30
"""The bounded caches are as full as they get, and pools of buffers as large."""

GROWTH_MIB = 24.0
MOST_MIB = 256.0


def rss_mib(served: Served) -> float:
    return served.child.current_rss_mib()


async def good_client(served: Served, context: ssl.SSLContext, until: float, sizes: list[float]) -> int:
    """The HorizontalPodAutoscaler's GET twice a second on a kept connection; every one must be answered with 200."""
    answered = 0
    connection: Connection | None = None
    while time.monotonic() < until:
        if connection is None or connection.reader.at_eof():
            connection = await Connection.open(served.port, context)  # it was the one idle longest
        answer = await connection.get(served.paths[0], HPA)
        assert answer.status == 200, answer
        answered += 1
        sizes.append(rss_mib(served))
        await asyncio.sleep(0.5)
    if connection is not None:
        await connection.close()
    return answered


async def story(served: Served, context: ssl.SSLContext, seconds: float) -> tuple[int, list[float]]:
    sizes: list[float] = []
    hostile = asyncio.create_task(abuse(Target(served.port, client_context(), context, seed=1)))
    try:
        answered = await good_client(served, context, time.monotonic() + seconds, sizes)
        assert not hostile.done()
    finally:
        hostile.cancel()
        await asyncio.gather(hostile, return_exceptions=True)
    return answered, sizes


@pytest.mark.timeout(900)
def test_memory_stays_flat_and_others_are_served_under_every_kind_of_abuse(
    tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    seconds = float(pytestconfig.getoption("--seconds"))
    credentials = make_credentials(tmp_path)
    pair = (credentials.front_proxy.certificate, credentials.front_proxy.key)
    with running_adapter(tmp_path, credentials, 1, 1) as served:
        context = client_context(pair)
        asyncio.run(wait_for_value(served, context))
        before = rss_mib(served)
        answered, sizes = asyncio.run(story(served, context, FILL_SECONDS + seconds))
        settled = sizes[len(sizes) * FILL_SECONDS // int(FILL_SECONDS + seconds) :]
        third = len(settled) // 3
        first, last = sorted(settled[:third])[third // 2], sorted(settled[-third:])[third // 2]
        print(
            f"{answered} GETs answered in {FILL_SECONDS + seconds:g} s; MiB: {before:.0f} before, median {first:.1f} of"
            f" the first third, {last:.1f} of the last, {max(sizes):.0f} at most"
        )
        assert last - first < GROWTH_MIB
        assert max(sizes) < MOST_MIB
        assert answered > seconds / 2


async def wait_for_value(served: Served, context: ssl.SSLContext) -> None:
    async with asyncio.timeout(60):
        while True:
            connection = await Connection.open(served.port, context)
            answer = await connection.get(served.paths[0], HPA)
            await connection.close()
            if answer.status == 200:
                return
            await asyncio.sleep(0.5)
