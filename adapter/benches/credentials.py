"""The certificates of a bench: one authority, a serving pair and the front proxy's, good for a day and kept nowhere."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

FRONT_PROXY = "front-proxy-client"


@dataclass(frozen=True, slots=True)
class Pair:
    """The PEM files of a certificate and its key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class Credentials:
    """Everything that server and client of a bench identify themselves with."""

    authority: Path
    serving: Pair
    front_proxy: Pair


def make_credentials(folder: Path) -> Credentials:
    """Make new ones in the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name("bench")
    builder = _builder(name, name, key).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    authority = folder / "ca.crt"
    authority.write_bytes(builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
    pairs = {common_name: _issue(folder, common_name, name, key) for common_name in ("localhost", FRONT_PROXY)}
    return Credentials(authority, pairs["localhost"], pairs[FRONT_PROXY])


def _issue(folder: Path, common_name: str, issuer: x509.Name, issuer_key: ec.EllipticCurvePrivateKey) -> Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    names = x509.SubjectAlternativeName([x509.DNSName(common_name), x509.IPAddress(IPv4Address("127.0.0.1"))])
    builder = _builder(_name(common_name), issuer, key)
    builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    certificate = builder.add_extension(names, critical=False).sign(issuer_key, hashes.SHA256())
    pair = Pair(folder / f"{common_name}.crt", folder / f"{common_name}.key")
    pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    pair.key.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return pair


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    start = datetime.now(UTC) - timedelta(minutes=5)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(start).not_valid_after(start + timedelta(days=1))
