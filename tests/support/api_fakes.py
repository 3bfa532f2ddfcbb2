"""Stand-ins for what the HTTPS server asks: an API server with a table of permissions, and a source of metrics."""

import asyncio
from collections.abc import Callable, Mapping

from adapter.core.api_requests import AccessAttributes
from adapter.core.external_metrics import MetricValue, Reply, bad_request, no_signal, render_value_list, unknown_metric
from adapter.core.label_selectors import SelectorError, parse_label_selector
from adapter.reviews import AUTHENTICATED, Identity, ReviewUnavailableError

HPA = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"


class FakeApiServer:
    """Lets the named users list metrics and every known user read discovery, as the cluster's default roles do."""

    def __init__(self, config_map: Mapping[str, str] | None = None, readers: tuple[str, ...] = (HPA,)) -> None:
        self.config_map = dict(config_map or {})
        self.readers = set(readers)
        self.tokens: dict[str, Identity] = {}
        self.reviews: list[tuple[Identity, AccessAttributes]] = []
        self.token_reviews = 0
        self.is_down = False

    async def review_token(self, token: str) -> Identity | None:
        self._fail_if_down()
        self.token_reviews += 1
        return self.tokens.get(token)

    async def review_access(self, identity: Identity, attributes: AccessAttributes) -> bool:
        self._fail_if_down()
        self.reviews.append((identity, attributes))
        if attributes.path:
            is_public = attributes.path.rstrip("/") in ("/version", "/healthz", "/livez", "/readyz")
            is_discovery = attributes.path.startswith(("/apis", "/openapi"))
            return is_public or (is_discovery and AUTHENTICATED in identity.groups)
        return identity.name in self.readers

    async def read_authentication_config(self) -> Mapping[str, str]:
        self._fail_if_down()
        return self.config_map

    async def watch_authentication_config(self, on_data: Callable[[Mapping[str, str]], None]) -> None:
        told: Mapping[str, str] | None = None
        while True:
            if not self.is_down and self.config_map != told:
                told = dict(self.config_map)
                on_data(told)
            await asyncio.sleep(0.02)

    async def close(self) -> None:
        pass

    def _fail_if_down(self) -> None:
        if self.is_down:
            raise ReviewUnavailableError("the API server gave no answer (refused)")


class FakeMetrics:
    """Serves the given values by namespace and name, those whose labels the selector matches."""

    def __init__(
        self,
        values: Mapping[tuple[str, str], list[MetricValue]],
        tick_seconds: float | None = None,
        refused: Mapping[str, str] | None = None,
    ) -> None:
        self.values = values
        self.refused = refused or {}
        self.tick_seconds = tick_seconds
        self.asked: list[tuple[str, str, str]] = []

    def reply(self, namespace: str, metric: str, label_selector: str) -> Reply:
        self.asked.append((namespace, metric, label_selector))
        try:
            selector = parse_label_selector(label_selector)
        except SelectorError as error:
            return bad_request(str(error)).reply()
        if metric in self.refused:
            return no_signal(metric, self.refused[metric], f"no signal: {self.refused[metric]}").reply()
        found = [item for item in self.values.get((namespace, metric), []) if selector.matches(item.labels)]
        if not found:
            return unknown_metric(metric).reply()
        return Reply(200, render_value_list(found), self.tick_seconds)
