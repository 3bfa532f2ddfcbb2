"""What stands in where there is no way to an API server: nobody is vouched for, and nothing is reviewed.

Front-proxy identities need no API server, so an adapter that is told its CAs by flags serves what needs no review
(`system:masters`, health, discovery to those) and refuses the rest, rather than not starting at all.
"""

import asyncio
from collections.abc import Mapping
from typing import NoReturn

from adapter.core.api_requests import AccessAttributes
from adapter.kube_watch import OnData
from adapter.reviews import Identity, ReviewUnavailableError


class NoApiServer:
    """An `ApiServer` that answers no question; the reason is in every refusal."""

    def __init__(self, reason: str) -> None:
        self._reason = reason

    def _refuse(self) -> NoReturn:
        raise ReviewUnavailableError(self._reason)

    async def review_token(self, token: str) -> Identity | None:
        self._refuse()

    async def review_access(self, identity: Identity, attributes: AccessAttributes) -> bool:
        self._refuse()

    async def read_authentication_config(self) -> Mapping[str, str]:
        return {}  # the flags are all there is

    async def watch_authentication_config(self, on_data: OnData) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        return
