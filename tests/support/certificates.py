"""Certificate authorities and certificates for tests, made on the spot: nothing secret, nothing that expires in git."""

import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
CLIENT, SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH


@dataclass(frozen=True)
class Pair:
    """A PEM certificate and its key."""

    certificate: str
    key: str

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
        certificate.write_text(self.certificate)
        key.write_text(self.key)
        return certificate, key

    @property
    def der(self) -> bytes:
        return ssl.PEM_cert_to_DER_cert(self.certificate)


class Authority:
    """A certificate authority of one's own."""

    def __init__(self, name: str, is_rsa: bool = False, key: str = "") -> None:
        self.is_rsa = is_rsa
        self.key = serialization.load_pem_private_key(key.encode(), None) if key else _new_key(is_rsa)
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        usage = x509.KeyUsage(True, False, True, False, False, True, True, False, False)
        builder = _builder(self.name, self.name, self.key, timedelta(days=3650))
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        self.certificate = builder.add_extension(usage, critical=True).sign(self.key, hashes.SHA256())

    @property
    def pem(self) -> str:
        return self.certificate.public_bytes(serialization.Encoding.PEM).decode()

    def write(self, folder: Path, name: str) -> Path:
        file = folder / f"{name}.crt"
        file.write_text(self.pem)
        return file

    def issue(
        self,
        common_name: str,
        organizations: tuple[str, ...] = (),
        usage: x509.ObjectIdentifier = CLIENT,
        lifetime: timedelta = timedelta(days=1),
    ) -> Pair:
        """A certificate as kubeadm makes them: user in CN, groups in O, no subject alternative names for clients."""
        key = _new_key(self.is_rsa)
        attributes = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations]
        if common_name:
            attributes.append(x509.NameAttribute(NameOID.COMMON_NAME, common_name))
        subject = x509.Name(attributes)
        builder = _builder(subject, self.name, key, lifetime)
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        key_usage = x509.KeyUsage(True, False, True, False, False, False, False, False, False)
        builder = builder.add_extension(key_usage, critical=True)
        issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(issuer_key, critical=False)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if usage == SERVER:
            names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(self.key, hashes.SHA256())
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return Pair(certificate.public_bytes(serialization.Encoding.PEM).decode(), pem.decode())


def _new_key(is_rsa: bool) -> Key:
    return rsa.generate_private_key(65537, 2048) if is_rsa else ec.generate_private_key(ec.SECP256R1())


def _builder(subject: x509.Name, issuer: x509.Name, key: Key, lifetime: timedelta) -> x509.CertificateBuilder:
    """A negative lifetime gives one that has expired."""
    now = datetime.now(UTC)
    start = min(now, now + lifetime) - timedelta(hours=1)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(start).not_valid_after(now + lifetime)
