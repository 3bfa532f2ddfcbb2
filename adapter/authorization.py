"""What an identity may do here: asked of the API server by SubjectAccessReview and remembered for ten seconds.

Without an answer nobody is let in but `system:masters`, whom Kubernetes always lets in: the aggregator's availability
probes carry that group, so the API stays registered while reviews fail.
"""

from collections.abc import Callable
from typing import Protocol

from adapter.core.api_requests import AccessAttributes
from adapter.core.external_metrics import Details, Status
from adapter.core.label_syntax import go_quote
from adapter.reviews import MASTERS, AccessReviewer, AnswerCache, Identity

MAX_KEPT_LENGTH = 512

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


class Authorizer(Protocol):
    """Decides; raises ReviewUnavailableError where it cannot."""

    async def is_allowed(self, identity: Identity, attributes: AccessAttributes) -> bool: ...


class AllowAll:
    """Lets everybody in; the settings allow it on loopback addresses only."""

    async def is_allowed(self, identity: Identity, attributes: AccessAttributes) -> bool:
        return True


class ReviewingAuthorizer:
    """Asks the reviewer and keeps its answers, the noes as long as the yeses."""

    def __init__(self, reviewer: AccessReviewer, monotonic: Callable[[], float]) -> None:
        self._reviewer = reviewer
        self._answers: AnswerCache[tuple[Identity, AccessAttributes], bool] = AnswerCache(monotonic)

    async def is_allowed(self, identity: Identity, attributes: AccessAttributes) -> bool:
        if MASTERS in identity.groups:
            return True
        key = (identity, attributes)
        if sum(map(len, _names(attributes))) > MAX_KEPT_LENGTH:
            # The names are the caller's: 4,096 of 64 KB would be 256 MB of keys. Nobody who means well comes here.
            return await self._reviewer.review_access(identity, attributes)
        return await self._answers.get(key, lambda: self._reviewer.review_access(identity, attributes))


def _names(attributes: AccessAttributes) -> tuple[str, ...]:
    names = (attributes.path, attributes.group, attributes.version, attributes.namespace)
    return (*names, attributes.resource, attributes.subresource, attributes.name)


def forbidden(identity: Identity, attributes: AccessAttributes) -> Status:
    """The 403 of the API server, word for word: people search for it."""
    user = f"User {go_quote(identity.name)} cannot {attributes.verb}"
    if attributes.path:
        message = f"forbidden: {user} path {go_quote(attributes.path)}".translate(_HTML)
        return Status(403, "Forbidden", message, Details())
    resource = attributes.resource
    if attributes.subresource:
        resource += f"/{attributes.subresource}"
    message = f"{user} resource {go_quote(resource)} in API group {go_quote(attributes.group)}"
    if attributes.namespace:
        message += f" in the namespace {go_quote(attributes.namespace)}"
    else:
        message += " at the cluster scope"
    subject = f"{attributes.resource}.{attributes.group}"
    if attributes.name:
        subject += f" {go_quote(attributes.name)}"
    details = Details(attributes.name, attributes.group, attributes.resource)
    return Status(403, "Forbidden", f"{subject} is forbidden: {message.translate(_HTML)}", details)
