"""The server's own certificate for TLS on loopback: made once, kept in its folder."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

LIFETIME = timedelta(days=365)
RENEWED_BEFORE = timedelta(days=7)


@dataclass(frozen=True)
class KeyPair:
    """A private key and its certificate, both PEM."""

    key: bytes
    certificate: bytes
    certificate_path: Path
    """What a client's GRPC_DEFAULT_SSL_ROOTS_FILE_PATH names."""


def own_key_pair(folder: Path) -> KeyPair:
    """The key pair in `folder`, made there when it is missing or about to expire."""
    key, certificate = folder / "server.key", folder / "server.crt"
    if not (key.exists() and certificate.exists() and _lasts(certificate)):
        folder.mkdir(parents=True, exist_ok=True)
        made_key, made_certificate = _self_signed(datetime.now(UTC))
        key.touch(mode=0o600)
        key.write_bytes(made_key)
        certificate.write_bytes(made_certificate)
    return read_key_pair(key, certificate)


def read_key_pair(key: Path, certificate: Path) -> KeyPair:
    """A key pair from files; raises OSError."""
    return KeyPair(key.read_bytes(), certificate.read_bytes(), certificate.absolute())


def _lasts(certificate: Path) -> bool:
    try:
        found = x509.load_pem_x509_certificate(certificate.read_bytes())
    except ValueError:
        return False
    return found.not_valid_after_utc > datetime.now(UTC) + RENEWED_BEFORE


def _self_signed(now: datetime) -> tuple[bytes, bytes]:
    """For `localhost` and the loopback addresses; the certificate is its own root, which is what clients trust."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    addresses = [x509.IPAddress(ipaddress.ip_address(text)) for text in ("127.0.0.1", "::1")]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost"), *addresses]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    encryption = serialization.NoEncryption()
    key_text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)
    return key_text, certificate.public_bytes(serialization.Encoding.PEM)
