"""What an identity may do here: asked of the API server by SubjectAccessReview and remembered for ten seconds.

Without an answer nobody is let in but `system:masters`, whom Kubernetes always lets in: the aggregator's availability
probes carry that group, so the API stays registered while reviews fail.
"""

import hashlib
from collections.abc import Callable
from typing import Protocol

from adapter.core.api_requests import AccessAttributes
from adapter.core.external_metrics import Details, Status
from adapter.core.label_syntax import go_quote
from adapter.reviews import MASTERS, AccessReviewer, AnswerCache, Identity

MAX_KEPT_LENGTH = 1024

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
        self._answers: AnswerCache[tuple[Identity, AccessAttributes] | bytes, bool] = AnswerCache(monotonic)

    async def is_allowed(self, identity: Identity, attributes: AccessAttributes) -> bool:
        if MASTERS in identity.groups:
            return True
        key = _key(identity, attributes)
        return await self._answers.get(key, lambda: self._reviewer.review_access(identity, attributes))


def _key(identity: Identity, attributes: AccessAttributes) -> tuple[Identity, AccessAttributes] | bytes:
    """The question itself, or its digest where it is large.

    Names and groups are the caller's, and 4,096 times the 400 KB that headers can hold would be 1.6 GB.
    """
    texts = [identity.name, identity.uid, *identity.groups]
    texts += [text for name, values in identity.extra for text in (name, *values)]
    texts += [attributes.path, attributes.group, attributes.version, attributes.namespace]
    texts += [attributes.resource, attributes.subresource, attributes.name]
    if sum(map(len, texts)) <= MAX_KEPT_LENGTH:
        return identity, attributes
    return hashlib.sha256(repr((identity, attributes)).encode("utf-8", "surrogateescape")).digest()


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
