"""The sources of a process by name, each with its own connections, threads and circuit."""

from collections.abc import Callable, Mapping

from adapter.asking import Asker, SourceAsker
from adapter.core.plans import PolicyPlan
from adapter.prometheus import PrometheusSource
from adapter.source_settings import NAMESPACE, SourceSettings
from adapter.source_telemetry import SourceTelemetry


class NotBound(Exception):
    """A plan that nobody held to what this server lets policies read; its queries could read other tenants' series."""


class Sources:
    """All sources; policies ask the one that they name."""

    def __init__(
        self,
        settings: Mapping[str, SourceSettings],
        telemetry: SourceTelemetry,
        on_query: Callable[[str], None],
    ) -> None:
        self._askers: dict[str, SourceAsker] = {}
        for name, one in settings.items():
            source = PrometheusSource(one.url, settings=one, on_query=on_query)
            per_tenant = any(NAMESPACE in text for text in (*one.headers.values(), *one.parameters.values()))
            self._askers[name] = SourceAsker(name, source, one.max_concurrent, telemetry, per_tenant)
            telemetry.known(name)

    def asker(self, plan: PolicyPlan) -> Asker:
        """Whom a policy asks. NotBound if its queries were not held to what it may read."""
        if plan.sent is None or plan.source not in self._askers:
            raise NotBound("/".join(plan.policy.key))
        return self._askers[plan.source].for_namespace(plan.policy.metadata.namespace)

    def close(self) -> None:
        """End what is under way in all."""
        for one in self._askers.values():
            one.close()
