"""What goes back to a client, before it is HTTP: a status, a body, its type and a few headers.

Routes make answers, the server writes them. Documents that never change carry an ETag and are not sent twice.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

from adapter.core.external_metrics import Details, Reply, Status
from adapter.core.media_types import JSON

TEXT = "text/plain; charset=utf-8"
TICK_HEADER = "X-Scaleproof-Tick"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StaticDocument:
    """A body that never changes, with the ETag that tells clients so."""

    body: bytes
    content_type: str = JSON

    @property
    def digest(self) -> str:
        return hashlib.sha512(self.body).hexdigest().upper()

    def answer(self, if_none_match: str) -> Answer:
        etag = f'"{self.digest}"'
        headers = {"ETag": etag, "Vary": "Accept, Accept-Encoding"}
        if if_none_match == "*" or etag in if_none_match:
            return Answer(304, b"", self.content_type, headers)
        return Answer(200, self.body, self.content_type, headers)


def of_status(status: Status) -> Answer:
    """The Status as an answer."""
    return Answer(status.code, status.render())


def of_reply(reply: Reply) -> Answer:
    """A metric source's reply; the tick stands in a header, so that the body is what every adapter would send."""
    if reply.tick_seconds is None:
        return Answer(reply.status, reply.body)
    return Answer(reply.status, reply.body, headers={TICK_HEADER: f"{reply.tick_seconds:.3f}".removesuffix(".000")})


NOT_FOUND = of_status(Status(404, "NotFound", "the server could not find the requested resource", Details()))
METHOD_NOT_ALLOWED = of_status(
    Status(405, "MethodNotAllowed", "the server does not allow this method on the requested resource", Details())
)
NOT_ACCEPTABLE = of_status(
    Status(406, "NotAcceptable", "only the following media types are accepted: application/json", Details())
)
UNAUTHORIZED = of_status(Status(401, "Unauthorized", "Unauthorized"))
TOO_MANY_REQUESTS = of_status(
    Status(429, "TooManyRequests", "too many requests are under way, please try again later", Details())
)
IMPERSONATION = of_status(
    Status(403, "Forbidden", "impersonation is not served here; ask through the API server, which applies it")
)


def internal_error(message: str) -> Answer:
    """500 as the API machinery words it."""
    return of_status(Status(500, "InternalError", f"Internal error occurred: {message}"))
