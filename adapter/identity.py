"""Who asks: the front proxy for somebody, a client certificate, a bearer token, or nobody in particular.

The order and the outcomes are those of every aggregated server (k8s.io/apiserver, delegating authentication): the
front proxy's word first, then the certificate's own name, then the token. Credentials that prove nothing are an error,
never anonymous; a certificate that only the client CA vouches for is never the front proxy, whatever its name.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from urllib.parse import unquote

from multidict import CIMultiDictProxy

from adapter.certificates import ClientTrust, Peer, PeerVerifier
from adapter.reviews import ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, AnswerCache, Identity, TokenReviewer

Headers = CIMultiDictProxy[str]
RawHeaders = tuple[tuple[bytes, bytes], ...]

MAX_KEPT_IDENTITIES = 1024
MAX_KEPT_HEADER_BYTES = 4096


class UnauthenticatedError(Exception):
    """Credentials were shown and they prove nothing."""


class Authenticator:
    """Turns a peer's certificate and a request's headers into an identity."""

    def __init__(
        self,
        trust: Callable[[], ClientTrust],
        peers: PeerVerifier,
        token_reviewer: TokenReviewer | None,
        monotonic: Callable[[], float],
    ) -> None:
        self._trust = trust
        self._peers = peers
        self._token_reviewer = token_reviewer
        self._tokens: AnswerCache[bytes, Identity | None] = AnswerCache(monotonic)
        self._told = _ToldIdentities()

    async def identify(self, certificate_der: bytes | None, headers: Headers, raw_headers: RawHeaders) -> Identity:
        """The identity; UnauthenticatedError where it is 401, ReviewUnavailableError where nobody can tell."""
        if certificate_der is not None:
            trust = self._trust()
            peer = self._peers.peer(certificate_der, trust)
            identity = self._told.identity(peer, headers, raw_headers, trust) or _of_client(peer)
            if identity is not None:
                return identity
        token = _bearer_token(headers)
        if token and self._token_reviewer is not None:
            # A token is ASCII (RFC 6750); anything else is nobody's, and need not be asked about.
            identity = await self._review(token, self._token_reviewer) if token.isascii() else None
            if identity is None:
                raise UnauthenticatedError
            return identity
        if certificate_der is not None:
            raise UnauthenticatedError
        return ANONYMOUS

    async def _review(self, token: str, reviewer: TokenReviewer) -> Identity | None:
        digest = hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()  # no secrets as keys
        identity = await self._tokens.get(digest, lambda: reviewer.review_token(token))
        return identity and _authenticated(identity)


class _ToldIdentities:
    """Whom the front proxy speaks for, by the bytes of its headers: it tells the same few at every sync.

    Only what the headers say is kept; whether the peer may say it is asked each time. Bounded, and a change of trust
    forgets all. Headers with an Authorization are read each time, so that no secret is kept.
    """

    def __init__(self) -> None:
        self._trust = ClientTrust()
        self._kept: OrderedDict[RawHeaders, Identity | None] = OrderedDict()

    def identity(self, peer: Peer | None, headers: Headers, raw: RawHeaders, trust: ClientTrust) -> Identity | None:
        if peer is None or not peer.is_front_proxy:
            return None
        if trust is not self._trust:
            self._trust = trust
            self._kept.clear()
        if raw in self._kept:
            self._kept.move_to_end(raw)
            return self._kept[raw]
        identity = _of_front_proxy(peer, headers, trust)
        if (
            "Authorization" not in headers
            and sum(len(name) + len(value) for name, value in raw) <= MAX_KEPT_HEADER_BYTES
        ):
            self._kept[raw] = identity
            if len(self._kept) > MAX_KEPT_IDENTITIES:
                self._kept.popitem(last=False)
        return identity


def _of_front_proxy(peer: Peer | None, headers: Headers, trust: ClientTrust) -> Identity | None:
    """Whom the front proxy speaks for; it has to name somebody."""
    if peer is None or not peer.is_front_proxy:
        return None
    name = _first_value(headers, trust.username_headers)
    if not name:
        return None
    groups = tuple(value for header in trust.group_headers for value in headers.getall(header, ()) if value)
    uid = _first_value(headers, trust.uid_headers)
    return _authenticated(Identity(name, groups, uid, _extra(headers, trust.extra_prefixes)))


def _of_client(peer: Peer | None) -> Identity | None:
    """The certificate's own user: CN is the name, O the groups."""
    if peer is None or not peer.is_client or not peer.common_name:
        return None
    return _authenticated(Identity(peer.common_name, peer.organizations))


def _authenticated(identity: Identity) -> Identity:
    """The identity with the group that everybody known has; kube-apiserver itself sends users without any group."""
    if identity.name == ANONYMOUS.name or {AUTHENTICATED, UNAUTHENTICATED} & set(identity.groups):
        return identity
    return Identity(identity.name, (*identity.groups, AUTHENTICATED), identity.uid, identity.extra)


def _first_value(headers: Headers, names: tuple[str, ...]) -> str:
    """The first header that has a value wins; of a header sent twice only the first line is read, as in Go."""
    return next((value for name in names if (value := headers.get(name, ""))), "")


def _extra(headers: Headers, prefixes: tuple[str, ...]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    found: dict[str, list[str]] = {}
    for prefix in prefixes:
        for header, value in headers.items():
            if header.lower().startswith(prefix.lower()):
                found.setdefault(unquote(header[len(prefix) :].lower()), []).append(value)
    return tuple((key, tuple(values)) for key, values in sorted(found.items()))


def _bearer_token(headers: Headers) -> str:
    scheme, _, token = headers.get("Authorization", "").strip().partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""
