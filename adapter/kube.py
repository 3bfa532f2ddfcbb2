"""The API server as this adapter needs it: two reviews and one ConfigMap. The one importer of kubernetes.

The library costs 0.5 s and 55 MiB to import, so it is imported on connection and not with this module. Every call has
a time-out, at most so many are under way, and whatever the library raises leaves here as ReviewUnavailableError.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from yaml import YAMLError

from adapter.core.api_requests import AccessAttributes
from adapter.kube_watch import GRACE_SECONDS, OnData, follow
from adapter.reviews import Identity, ReviewUnavailableError

CALL_SECONDS = 5.0
MAX_CALLS = 32
AUTHENTICATION_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
AUTHENTICATION_CONFIG_MAP = "extension-apiserver-authentication"


class ApiServerConfigurationError(ValueError):
    """There is no usable way to the API server: no kubeconfig, no service account, or a broken one."""


class ApiServer(Protocol):
    """What the server asks of the Kubernetes API server."""

    async def review_token(self, token: str) -> Identity | None: ...

    async def review_access(self, identity: Identity, attributes: AccessAttributes) -> bool: ...

    async def read_authentication_config(self) -> Mapping[str, str]: ...

    async def watch_authentication_config(self, on_data: OnData) -> None:
        """Tell the ConfigMap's data each time it changes, until cancelled."""
        ...

    async def close(self) -> None: ...


async def connect(kubeconfig: Path | None) -> ApiServer:
    """A client by kubeconfig, or by the service account of the Pod; nothing is sent yet."""
    from kubernetes.aio import client, config

    load_file: Any = config.load_kube_config
    load_service_account: Any = config.load_incluster_config
    settings = client.Configuration()
    try:
        if kubeconfig is not None:
            await load_file(config_file=str(kubeconfig), client_configuration=settings, persist_config=False)
        else:
            load_service_account(client_configuration=settings)
    except (config.ConfigException, YAMLError, OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        source = str(kubeconfig) if kubeconfig is not None else "the Pod's service account"
        message = f"no way to the API server by {source}: {error}"
        raise ApiServerConfigurationError(f"{message}; give --kubeconfig FILE, or run in a Pod") from error
    return _KubernetesApi(client, client.ApiClient(configuration=settings))


class _KubernetesApi:
    """The library, typed: its models go in and plain values come out."""

    def __init__(self, models: Any, api_client: Any) -> None:
        self._models = models
        self._client = api_client
        self._authentication = models.AuthenticationV1Api(api_client)
        self._authorization = models.AuthorizationV1Api(api_client)
        self._calls = asyncio.Semaphore(MAX_CALLS)

    async def review_token(self, token: str) -> Identity | None:
        body = self._models.V1TokenReview(spec=self._models.V1TokenReviewSpec(token=token))
        review = await self._call("TokenReview", lambda: self._authentication.create_token_review(body=body))
        status = review.status
        if status is None or not status.authenticated or status.user is None or not status.user.username:
            return None
        user = status.user
        extra = tuple((key, tuple(values)) for key, values in sorted((user.extra or {}).items()))
        return Identity(user.username, tuple(user.groups or ()), user.uid or "", extra)

    async def review_access(self, identity: Identity, attributes: AccessAttributes) -> bool:
        models = self._models
        spec = models.V1SubjectAccessReviewSpec(
            user=identity.name,
            groups=list(identity.groups),
            uid=identity.uid or None,
            extra={key: list(values) for key, values in identity.extra} or None,
        )
        if attributes.path:
            spec.non_resource_attributes = models.V1NonResourceAttributes(path=attributes.path, verb=attributes.verb)
        else:
            spec.resource_attributes = models.V1ResourceAttributes(
                verb=attributes.verb,
                group=attributes.group,
                version=attributes.version,
                namespace=attributes.namespace,
                resource=attributes.resource,
                subresource=attributes.subresource,
                name=attributes.name,
            )
        body = models.V1SubjectAccessReview(spec=spec)
        call = self._authorization.create_subject_access_review
        review = await self._call("SubjectAccessReview", lambda: call(body=body))
        return review.status is not None and bool(review.status.allowed) and not review.status.denied

    async def read_authentication_config(self) -> Mapping[str, str]:
        found = await self.read(f"{AUTHENTICATION_CONFIG_MAPS}/{AUTHENTICATION_CONFIG_MAP}", {})
        return dict(found.get("data") or {})

    async def watch_authentication_config(self, on_data: OnData) -> None:
        await follow(_AuthenticationConfig(self), on_data)

    async def close(self) -> None:
        await self._client.close()

    async def open(self, path: str, query: Mapping[str, str], seconds: float) -> Any:
        """An open answer of aiohttp to a GET, its body yet to be read; the caller closes it."""
        return await self._call(path, lambda: self._get(path, query, seconds))

    async def read(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        """The JSON object that a GET gives; ReviewUnavailableError for anything else."""

        async def call() -> Any:
            answer = await self._get(path, query, CALL_SECONDS)
            try:
                answer.raise_for_status()
                return await answer.json()
            finally:
                answer.close()

        found: dict[str, Any] = await self._call(path, call)
        return found

    async def _get(self, path: str, query: Mapping[str, str], seconds: float) -> Any:
        """GET by the library's own client; its CoreV1Api would do the same, but that one module costs 25 MiB."""
        parameters = await self._client.param_serialize(
            "GET",
            path,
            query_params=list(query.items()),
            header_params={"Accept": "application/json"},
            auth_settings=["BearerToken"],
        )
        answer = await self._client.call_api(*parameters, _request_timeout=seconds)
        return answer.response

    async def _call(self, what: str, call: Callable[[], Awaitable[Any]]) -> Any:
        try:
            async with asyncio.timeout(CALL_SECONDS), self._calls:
                return await call()
        # The library lets raw errors of aiohttp, ssl, pydantic and json through; none of them may pass, and none of
        # them may be taken for an answer.
        except Exception as error:
            status = getattr(error, "status", None)
            reason = f"status {status}" if isinstance(status, int) else type(error).__name__
            raise ReviewUnavailableError(f"{what}: the API server gave no answer ({reason})") from error


class _AuthenticationConfig:
    """The list and the watch of the one ConfigMap, by its name, which is all that the role allows."""

    def __init__(self, api: _KubernetesApi) -> None:
        self._api = api
        self._which = {"fieldSelector": f"metadata.name={AUTHENTICATION_CONFIG_MAP}"}

    async def list(self) -> tuple[str, Mapping[str, str]]:
        found = await self._api.read(AUTHENTICATION_CONFIG_MAPS, self._which)
        data = next((dict(item.get("data") or {}) for item in found["items"]), {})
        return found["metadata"]["resourceVersion"], data

    async def watch(self, version: str, seconds: int) -> Any:
        query = {**self._which, "watch": "true", "resourceVersion": version, "timeoutSeconds": str(seconds)}
        # The library's own time-out is five minutes for the whole answer; `follow` has one that fits.
        return await self._api.open(AUTHENTICATION_CONFIG_MAPS, query, seconds + GRACE_SECONDS)
