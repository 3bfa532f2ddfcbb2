"""Certificate authorities for tests: the cluster's, the front proxy's, and strangers.

Knows nothing of Kubernetes. Elliptic-curve keys, since a test makes a dozen and RSA would take seconds.
"""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

DEFAULT_NAMES = ("localhost", "127.0.0.1")
VALID_FOR = timedelta(days=1)


@dataclass(frozen=True)
class KeyPair:
    """A certificate and its key, as the PEM files that programs want."""

    certificate: Path
    key: Path

    @property
    def files(self) -> tuple[str, str]:
        """What `requests` and `ssl` take as a client certificate."""
        return str(self.certificate), str(self.key)


def pem(key: PrivateKeyTypes) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def builder(subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + VALID_FOR)
    )


class Authority:
    """A certificate authority whose files stand in `folder`: NAME.crt, NAME.key and what it issues."""

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        self.certificate_file = folder / f"{name}.crt"
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        certificate = (
            builder(self._name, self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, file: str, common_name: str, organization: str = "", names: tuple[str, ...] = DEFAULT_NAMES
    ) -> KeyPair:
        """Write FILE.crt and FILE.key for a server or client; `names` are its DNS names and addresses."""
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
        if organization:
            attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
        key = ec.generate_private_key(ec.SECP256R1())
        request = (
            builder(x509.Name(attributes), self._name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if names:  # most client certificates of a cluster have none
            request = request.add_extension(x509.SubjectAlternativeName(list(map(alternative, names))), critical=False)
        pair = KeyPair(self.folder / f"{file}.crt", self.folder / f"{file}.key")
        certificate = request.sign(self._key, hashes.SHA256())
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        pair.key.write_bytes(pem(key))
        return pair


def alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
