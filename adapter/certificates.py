"""Client certificates, verified in the application and not only by TLS.

TLS knows one pool of CAs: it cannot tell a certificate of the request-header CA from one of the client CA, and neither
an open connection nor a resumed session forgets a CA that is no longer trusted. So the peer's certificate is verified
here against each pool apart, once for each set of trusted CAs, and only its DER form is taken from the connection.
"""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from cryptography.x509.verification import (
    ClientVerifier,
    Criticality,
    ExtensionPolicy,
    Policy,
    PolicyBuilder,
    Store,
    VerificationError,
)

MAX_PEERS = 4096
DEFAULT_USERNAME_HEADERS = ("X-Remote-User",)
DEFAULT_UID_HEADERS = ("X-Remote-Uid",)
DEFAULT_GROUP_HEADERS = ("X-Remote-Group",)
DEFAULT_EXTRA_PREFIXES = ("X-Remote-Extra-",)


class CertificateAuthorityError(ValueError):
    """A text is not a bundle of PEM certificates."""


@dataclass(frozen=True, slots=True)
class ClientTrust:
    """Whose certificates are believed, and for what; `generation` grows with every change of it.

    The CAs are PEM bundles. An empty `allowed_names` lets every certificate of the request-header CA act as the
    front proxy, as on every aggregated server.
    """

    generation: int = 0
    client_ca: str = ""
    request_header_ca: str = ""
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = DEFAULT_USERNAME_HEADERS
    uid_headers: tuple[str, ...] = DEFAULT_UID_HEADERS
    group_headers: tuple[str, ...] = DEFAULT_GROUP_HEADERS
    extra_prefixes: tuple[str, ...] = DEFAULT_EXTRA_PREFIXES

    def __post_init__(self) -> None:
        for bundle in (self.client_ca, self.request_header_ca):
            if bundle:
                read_bundle(bundle)


@dataclass(frozen=True, slots=True)
class Peer:
    """What a client certificate proves, until one of its chain expires."""

    is_front_proxy: bool
    is_client: bool
    common_name: str
    organizations: tuple[str, ...]
    valid_from: datetime
    valid_until: datetime


def read_bundle(pem: str) -> list[x509.Certificate]:
    """The certificates of a PEM bundle; CertificateAuthorityError if there is none or one cannot be read."""
    try:
        return x509.load_pem_x509_certificates(pem.encode())
    except ValueError as error:
        raise CertificateAuthorityError(f"not a bundle of PEM certificates: {error}") from error


class PeerVerifier:
    """Verifies DER certificates against the trust of the moment; bounded, and forgetful when the trust changes."""

    def __init__(self, wall_clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._wall_clock = wall_clock
        self._trust = ClientTrust()
        self._peers: OrderedDict[bytes, Peer | None] = OrderedDict()

    def peer(self, der: bytes, trust: ClientTrust) -> Peer | None:
        """What the certificate proves now; None if it is not to be believed at all."""
        if trust is not self._trust:
            self._trust = trust
            self._peers.clear()
        now = self._wall_clock()
        if der in self._peers:
            self._peers.move_to_end(der)
            found = self._peers[der]
            if found is None or found.valid_from <= now <= found.valid_until:
                return found
        found = self._peers[der] = _verify(der, trust, now)
        while len(self._peers) > MAX_PEERS:
            self._peers.popitem(last=False)
        return found


def _verify(der: bytes, trust: ClientTrust, now: datetime) -> Peer | None:
    try:
        certificate = x509.load_der_x509_certificate(der)
        common_names = certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        organizations = certificate.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    except ValueError:
        return None
    proxy_chain = _chain(certificate, trust.request_header_ca, now)
    client_chain = _chain(certificate, trust.client_ca, now)
    chain = proxy_chain + client_chain
    if not chain:
        return None
    common_name = str(common_names[-1].value) if common_names else ""
    is_allowed = not trust.allowed_names or common_name in trust.allowed_names
    return Peer(
        is_front_proxy=bool(proxy_chain) and is_allowed,
        is_client=bool(client_chain),
        common_name=common_name,
        organizations=tuple(str(attribute.value) for attribute in organizations),
        valid_from=max(link.not_valid_before_utc for link in chain),
        valid_until=min(link.not_valid_after_utc for link in chain),
    )


def _chain(certificate: x509.Certificate, bundle: str, now: datetime) -> list[x509.Certificate]:
    """The certificate and those above it up to a trusted one; empty if there is no such chain."""
    if not bundle:
        return []
    try:
        return list(_verifier(bundle, now).verify(certificate, []).chain)
    except VerificationError:
        return []


def _verifier(bundle: str, now: datetime) -> ClientVerifier:
    """Web rules are too strict for Kubernetes: its client certificates name a user in the CN and have no SAN."""
    authority = ExtensionPolicy.permit_all().require_present(
        x509.BasicConstraints, Criticality.AGNOSTIC, _must_be_authority
    )
    leaf = ExtensionPolicy.permit_all().may_be_present(
        x509.ExtendedKeyUsage, Criticality.AGNOSTIC, _must_allow_client_authentication
    )
    builder = PolicyBuilder().store(Store(read_bundle(bundle))).time(now)
    return builder.extension_policies(ca_policy=authority, ee_policy=leaf).build_client_verifier()


def _must_be_authority(policy: Policy, certificate: x509.Certificate, constraints: x509.BasicConstraints) -> None:
    if not constraints.ca:
        raise ValueError("not a certificate authority")
    usages = [extension.value for extension in certificate.extensions if isinstance(extension.value, x509.KeyUsage)]
    if usages and not usages[0].key_cert_sign:
        raise ValueError("may not sign certificates")


def _must_allow_client_authentication(
    policy: Policy, certificate: x509.Certificate, usage: x509.ExtendedKeyUsage | None
) -> None:
    allowed = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
    if usage is not None and not any(purpose in usage for purpose in allowed):
        raise ValueError("not for client authentication")
