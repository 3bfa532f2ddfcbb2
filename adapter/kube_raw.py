"""GETs through the API server as the user of a kubeconfig, as `kubectl get --raw` does them. For commands, not serving.

The library is imported on use: it costs 0.5 s. Whatever it raises leaves here as RawApiError, with what to do.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yaml import YAMLError

CALL_SECONDS = 10.0
MAX_BODY_BYTES = 16 * 2**20


class RawApiError(Exception):
    """The API server cannot be asked; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class RawAnswer:
    """Status and JSON object of an answer; what is no JSON object is an empty one with its text as message."""

    status: int
    document: Mapping[str, Any]

    @property
    def message(self) -> str:
        """What a Status says."""
        return str(self.document.get("message", f"status {self.status}"))


class RawApi:
    """An API server, asked as somebody; use it in `async with`."""

    def __init__(self, kubeconfig: Path | None, context: str | None) -> None:
        self._kubeconfig, self._context = kubeconfig, context
        self._client: Any = None

    async def __aenter__(self) -> "RawApi":
        files = [str(self._kubeconfig)] if self._kubeconfig is not None else _usual_files()
        where = " or ".join(files)
        fix = "give --kubeconfig FILE, or port-forward and give --url"
        if not any(map(os.path.isfile, files)):
            raise RawApiError(f"no kubeconfig at {where}; {fix}")
        from kubernetes.aio import client, config

        load: Any = config.load_kube_config
        settings = client.Configuration()
        file = str(self._kubeconfig) if self._kubeconfig is not None else None
        try:
            await load(config_file=file, context=self._context, client_configuration=settings, persist_config=False)
        except (
            config.ConfigException,
            YAMLError,
            OSError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
        ) as fault:
            raise RawApiError(f"no way to a cluster by {where}: {fault}; {fix}") from fault
        self._client = client.ApiClient(configuration=settings)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def get(self, path: str, query: Mapping[str, str]) -> RawAnswer:
        """The answer to a GET, errors of the API included; the path is percent-encoded by the caller."""
        try:
            async with asyncio.timeout(CALL_SECONDS):
                parameters = await self._client.param_serialize(
                    "GET",
                    path,
                    query_params=list(query.items()),
                    header_params={"Accept": "application/json"},
                    auth_settings=["BearerToken"],
                )
                answer = await self._client.call_api(*parameters, _request_timeout=CALL_SECONDS)
                response = answer.response
                try:
                    body = await response.content.read(MAX_BODY_BYTES + 1)
                    while len(body) <= MAX_BODY_BYTES and (more := await response.content.read(2**16)):
                        body += more
                finally:
                    response.close()
        # The library lets raw errors of aiohttp, ssl and json through; none of them may pass.
        except Exception as error:
            words = str(error) or type(error).__name__
            message = f"the API server gave no answer: {words}"
            raise RawApiError(f"{message}; see whether `kubectl version` reaches it, or give --context") from error
        return RawAnswer(response.status, _document(body))


def _usual_files() -> list[str]:
    """Where kubectl looks."""
    named = [file for file in os.environ.get("KUBECONFIG", "").split(os.pathsep) if file]
    return named or [str(Path.home() / ".kube/config")]


def _document(body: bytes) -> Mapping[str, Any]:
    if len(body) > MAX_BODY_BYTES:
        return {"message": f"the answer has more than {MAX_BODY_BYTES} bytes"}
    try:
        document = json.loads(body)
    except ValueError:
        return {"message": body[:300].decode("utf-8", "replace").strip()}
    return document if isinstance(document, dict) else {"message": "the answer is no JSON object"}
