"""The TLS side of the server: the serving pair, the CAs offered to clients, and their exchange while running.

OpenSSL picks the context of a connection in the server-name callback, which is where a new pair or new CAs come into
force: for every handshake from then on, without a new listener. A pair is tried in a context of its own first, because
a mismatched one loaded into a live context breaks every later handshake.
"""

import ssl
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from adapter.certificates import ClientTrust

SELF_SIGNED_DAYS = 365
_SELF_SIGNED_NAMES = ("localhost", "scaleproof.scaleproof-system.svc", "scaleproof.scaleproof-system.svc.cluster.local")
_MAX_PEM_BYTES = 1_000_000


class TlsError(ValueError):
    """A certificate, key or CA that TLS cannot work with; the message says why."""


@dataclass(frozen=True, slots=True)
class ServingPair:
    """A PEM certificate chain and its key."""

    certificate: bytes
    key: bytes


def read_pair(certificate_file: Path, key_file: Path) -> ServingPair:
    """Read the pair through whatever links lead to it; TlsError names the file that cannot be read."""
    return ServingPair(_read(certificate_file), _read(key_file))


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(_MAX_PEM_BYTES)
    except OSError as error:
        raise TlsError(f"{file} cannot be read: {error.strerror or error}") from error


def self_signed_pair(now: datetime | None = None) -> ServingPair:
    """A pair for development; clusters bring their own, or APIServices would have to skip verification."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "scaleproof")])
    start = (now or datetime.now(UTC)) - timedelta(minutes=5)
    addresses = [x509.IPAddress(IPv4Address("127.0.0.1")), x509.IPAddress(IPv6Address("::1"))]
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start)
        .not_valid_after(start + timedelta(days=SELF_SIGNED_DAYS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.SubjectAlternativeName([*map(x509.DNSName, _SELF_SIGNED_NAMES), *addresses]), False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
    certificate = builder.sign(key, hashes.SHA256())
    encoded_key = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return ServingPair(certificate.public_bytes(serialization.Encoding.PEM), encoded_key)


def expiry_of(pair: ServingPair) -> float | None:
    """When the first certificate of the chain to run out does so, in epoch seconds; None if it cannot be read."""
    try:
        chain = x509.load_pem_x509_certificates(pair.certificate)
    except ValueError:
        return None
    return min((one.not_valid_after_utc.timestamp() for one in chain), default=None)


class ServingContext:
    """The context of the listener; `use` puts a pair and a trust into force for the handshakes that follow."""

    def __init__(self, pair: ServingPair, trust: ClientTrust, asks_for_certificates: bool = True) -> None:
        self._pair = pair
        self._trust = trust
        self._current = _context(pair, trust)
        self.listener = _context(pair, trust)
        # Whether to ask is the one thing that a connection keeps from the listener when its context is exchanged.
        # Optional, because callers with a bearer token and health probes have no certificate.
        self.listener.verify_mode = ssl.CERT_OPTIONAL if asks_for_certificates else ssl.CERT_NONE
        self.listener.sni_callback = self._choose  # called for every handshake, with or without a server name

    def use_pair(self, pair: ServingPair) -> None:
        """Serve with another pair; TlsError leaves the old one in force."""
        self._current = _context(pair, self._trust)
        self._pair = pair

    @property
    def expiry(self) -> float | None:
        """When the pair in force runs out, in epoch seconds."""
        return expiry_of(self._pair)

    def use_trust(self, trust: ClientTrust) -> None:
        """Ask clients for certificates of other CAs; TlsError leaves the old ones in force."""
        self._current = _context(self._pair, trust)
        self._trust = trust

    def _choose(self, connection: ssl.SSLSocket | ssl.SSLObject, name: str | None, context: ssl.SSLContext) -> None:
        connection.context = self._current


def _context(pair: ServingPair, trust: ClientTrust) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION
    authorities = "\n".join(bundle for bundle in (trust.client_ca, trust.request_header_ca) if bundle)
    if authorities:
        # What a certificate is good for is decided by the application; one that no CA here vouches for ends in the
        # handshake.
        try:
            context.load_verify_locations(cadata=authorities)
        except (ssl.SSLError, ValueError) as error:
            raise TlsError(f"the CAs for client certificates cannot be used: {error}") from error
    # The ssl module loads a pair from files only; these are gone before the first handshake.
    with tempfile.TemporaryDirectory(prefix="scaleproof-") as folder:
        certificate, key = Path(folder, "tls.crt"), Path(folder, "tls.key")
        certificate.write_bytes(pair.certificate)
        key.touch(mode=0o600)
        key.write_bytes(pair.key)
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except (ssl.SSLError, ValueError) as error:
            raise TlsError(f"the certificate and key cannot serve together: {error}") from error
    return context


def _no_password() -> str:
    raise ValueError("the key is encrypted; keys with a password are not supported")


class PairReloader:
    """Looks at the files of the pair now and then and takes what changed, if it is any good."""

    def __init__(
        self, context: ServingContext, certificate_file: Path, key_file: Path, on_error: Callable[[str], None]
    ) -> None:
        self._context = context
        self._files = (certificate_file, key_file)
        self._on_error = on_error
        self._seen = read_pair(*self._files)
        self._last_fault = ""

    def look(self) -> bool:
        """Whether a new pair came into force; a bad one is told once for as long as it stays the same."""
        try:
            pair = read_pair(*self._files)
            if pair == self._seen:
                self._last_fault = ""
                return False
            self._context.use_pair(pair)
        except TlsError as error:
            if str(error) != self._last_fault:
                self._on_error(str(error))
            self._last_fault = str(error)
            return False
        self._seen = pair
        self._last_fault = ""
        return True
