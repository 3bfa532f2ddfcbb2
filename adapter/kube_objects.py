"""Objects of the API server as plain JSON, for commands that look around with an operator's own rights.

What is refused, missing or not answered is an answer too, since a command that looks around has to go on. Knows nothing
of what it reads.
"""

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from adapter.kube import open_client

CALL_SECONDS = 10.0
MAX_BODY_BYTES = 32 * 2**20

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refused:
    """No document: the status, 0 where there was no answer at all, and what was said."""

    status: int
    message: str

    def __str__(self) -> str:
        return f"{self.status} {self.message}" if self.status else self.message


class ClusterObjects(Protocol):
    """Reads what there is and posts questions (reviews); changes nothing."""

    async def get(self, path: str) -> Document | Refused: ...

    async def post(self, path: str, document: Document) -> Document | Refused: ...

    async def close(self) -> None: ...


class ApiServerObjects:
    """The library's client, reduced to paths and JSON."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.server = str(client.configuration.host)

    async def get(self, path: str) -> Document | Refused:
        return await self._ask("GET", path, None)

    async def post(self, path: str, document: Document) -> Document | Refused:
        return await self._ask("POST", path, document)

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, method: str, path: str, document: Document | None) -> Document | Refused:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        try:
            async with asyncio.timeout(CALL_SECONDS):
                request = await self._client.param_serialize(
                    method, path, header_params=headers, body=document, auth_settings=["BearerToken"]
                )
                answer = (await self._client.call_api(*request, _request_timeout=CALL_SECONDS)).response
                try:
                    body = await answer.content.read(MAX_BODY_BYTES)
                    while len(body) < MAX_BODY_BYTES and (more := await answer.content.read(MAX_BODY_BYTES)):
                        body += more
                finally:
                    answer.close()
        # The library lets errors of aiohttp, ssl, its credential plugins and json through.
        except Exception as error:
            return Refused(0, f"no answer: {error or type(error).__name__}"[:300])
        return _read(answer.status, body)


def _read(status: int, body: bytes) -> Document | Refused:
    try:
        document = json.loads(body)
    except ValueError:
        document = None
    if status not in (200, 201):
        words = document.get("message") if isinstance(document, dict) else body.decode(errors="replace")
        return Refused(status, " ".join(str(words or "without a word").split())[:300])
    return document if isinstance(document, dict) else Refused(status, "the answer is no JSON object")


async def connect_objects(kubeconfig: Path | None, context: str | None) -> ApiServerObjects:
    """A client by kubeconfig, or by the Pod's service account; ApiServerConfigurationError where there is no way."""
    _, client = await open_client(kubeconfig, context)
    return ApiServerObjects(client)
