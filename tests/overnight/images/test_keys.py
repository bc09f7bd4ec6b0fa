"""Key files: made once with mode 0600, and everything that is no such key refused in one sentence."""

import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from threading import Barrier, Thread

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from overnight.images.errors import ImageError
from overnight.images.keys import key_pair, read_private_key, read_public_key

P256 = ec.generate_private_key(ec.SECP256R1())
P384 = ec.generate_private_key(ec.SECP384R1())
ED25519 = ed25519.Ed25519PrivateKey.generate()
RSA = rsa.generate_private_key(65537, 2048)


def private_pem(key, form=PrivateFormat.PKCS8, password: bytes | None = None) -> bytes:
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, form, encryption)


def public_pem(key) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def certificate() -> bytes:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "acme")])
    day = datetime(2026, 1, 1, tzinfo=UTC)
    builder = x509.CertificateBuilder(name, name, P256.public_key(), 1, day, day.replace(year=2027))
    return builder.sign(P256, hashes.SHA256()).public_bytes(Encoding.PEM)


@pytest.fixture
def file(tmp_path: Path):
    """Writes bytes into a file."""

    def written(data: bytes) -> Path:
        path = tmp_path / "attestation.key"
        path.write_bytes(data)
        return path

    return written


def test_a_missing_pair_is_made_and_only_its_owner_may_read_the_private_half(tmp_path) -> None:
    path = tmp_path / "keys" / "attestation.pem"
    before = os.umask(0)
    try:
        key = key_pair(path)
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in path.parent.iterdir()) == ["attestation.pem", "attestation.pub"]
    assert read_private_key(path).public.key_id == key.public.key_id
    assert read_public_key(path.with_suffix(".pub")).key_id == key.public.key_id


def test_a_pair_that_is_there_is_used_and_never_written_again(tmp_path) -> None:
    path = tmp_path / "attestation.pem"
    key = key_pair(path)
    times = [each.stat().st_mtime_ns for each in sorted(tmp_path.iterdir())]
    assert key_pair(path).public.key_id == key.public.key_id
    assert [each.stat().st_mtime_ns for each in sorted(tmp_path.iterdir())] == times


def test_a_public_half_that_is_missing_is_derived(tmp_path) -> None:
    path = tmp_path / "attestation.pem"
    key = key_pair(path)
    path.with_suffix(".pub").unlink()
    key_pair(path)
    assert read_public_key(path.with_suffix(".pub")).key_id == key.public.key_id


def test_halves_of_two_pairs_are_refused(tmp_path) -> None:
    path = tmp_path / "attestation.pem"
    key_pair(path)
    path.with_suffix(".pub").write_bytes(public_pem(P256))
    with pytest.raises(ImageError) as raised:
        key_pair(path)
    assert raised.value.sentence == (
        f"{path.with_suffix('.pub')}: this is not the public half of attestation.pem; remove the wrong one of the two."
    )


def test_all_that_make_a_pair_at_once_get_the_same(tmp_path) -> None:
    barrier, found = Barrier(6), []

    def make() -> None:
        barrier.wait()
        found.append(key_pair(tmp_path / "attestation.pem").public.key_id)

    threads = [Thread(target=make) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    assert len(set(found)) == 1


def test_keys_of_openssl_and_cosign_are_read(file) -> None:
    """`openssl ecparam -genkey` writes SEC 1 ("EC PRIVATE KEY"), `cosign generate-key-pair` SubjectPublicKeyInfo."""
    public = read_public_key(file(public_pem(P256)))
    for form in (PrivateFormat.PKCS8, PrivateFormat.TraditionalOpenSSL):
        assert read_private_key(file(private_pem(P256, form))).public.key_id == public.key_id


ATTEST = "`overnight image attest` without --key makes a pair"


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", f"this file is empty, and a key is expected; {ATTEST}"),
        (b" \n", f"this file is empty, and a key is expected; {ATTEST}"),
        (b"\x00\xff" * 40, "this is not a PEM file (no line -----BEGIN …-----); give the PEM file of a private key"),
        (b"x" * 100_000, "this file is too large to be a key"),
        (certificate(), "this PEM file holds a certificate and no private key"),
        (public_pem(P256), "this is a public key, and the private one is needed"),
        (
            private_pem(P256, password=b"secret"),
            "this key is encrypted, and there is nobody to ask for its password; give it unencrypted, mode 0600",
        ),
        (
            private_pem(P256, PrivateFormat.TraditionalOpenSSL, b"secret"),
            "this key is encrypted, and there is nobody to ask for its password; give it unencrypted, mode 0600",
        ),
        (
            b"-----BEGIN ENCRYPTED SIGSTORE PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED SIGSTORE PRIVATE KEY-----\n",
            "this key is encrypted, and there is nobody to ask for its password; give it unencrypted, mode 0600",
        ),
        (private_pem(P256, PrivateFormat.OpenSSH), f"this is a key of ssh; {ATTEST}"),
        (private_pem(RSA), f"this is a key of kind RSA, and attestations are signed with ECDSA on P-256; {ATTEST}"),
        (
            private_pem(ED25519),
            f"this is a key of kind Ed25519, and attestations are signed with ECDSA on P-256; {ATTEST}",
        ),
        (
            private_pem(P384),
            f"this is an EC key on the curve secp384r1, and attestations are signed with ECDSA on P-256; {ATTEST}",
        ),
    ],
)
def test_what_is_no_private_key_is_refused_in_one_sentence(file, data, problem) -> None:
    path = file(data)
    with pytest.raises(ImageError) as raised:
        read_private_key(path)
    assert raised.value.sentence == f"{path}: {problem}."


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", f"this file is empty, and a key is expected; {ATTEST}"),
        (private_pem(P256), "this is a private key, and the public one is meant; give the .pub file beside it"),
        (private_pem(RSA), "this is a private key, and the public one is meant; give the .pub file beside it"),
        (certificate(), "this PEM file holds a certificate and no public key"),
        (b"ssh-ed25519 AAAAC3Nz acme\n", "this is not a PEM file (no line -----BEGIN …-----)"),
        (public_pem(RSA), "this is a key of kind RSA, and attestations are signed with ECDSA on P-256"),
        (public_pem(ED25519), "this is a key of kind Ed25519, and attestations are signed with ECDSA on P-256"),
        (public_pem(P384), "this is an EC key on the curve secp384r1"),
        (b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", "this public key cannot be read ("),
        (public_pem(P256)[:90], "this public key cannot be read ("),
    ],
)
def test_what_is_no_public_key_is_refused_in_one_sentence(file, data, problem) -> None:
    path = file(data)
    with pytest.raises(ImageError) as raised:
        read_public_key(path)
    assert raised.value.sentence.startswith(f"{path}: {problem}")
    assert "\n" not in raised.value.sentence


@pytest.mark.parametrize("cut", [60, 90, 150, 200])
def test_half_a_private_key_is_refused_in_one_sentence(file, cut) -> None:
    with pytest.raises(ImageError, match=r"this private key cannot be read \(.*\); `overnight image attest`"):
        read_private_key(file(private_pem(P256)[:cut]))


@pytest.mark.parametrize("read", [read_private_key, read_public_key])
def test_folders_missing_files_and_pipes_are_no_keys(read, tmp_path) -> None:
    with pytest.raises(ImageError, match="this is a folder, and a key is one file"):
        read(tmp_path)
    with pytest.raises(ImageError, match="there is no such key"):
        read(tmp_path / "missing.pem")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ImageError, match="this is not a regular file"):
        read(tmp_path / "pipe")


def test_keys_in_cloud_kms_are_refused() -> None:
    with pytest.raises(ImageError, match="keys in Cloud KMS are not supported; give a PEM file"):
        read_private_key("gcpkms:projects/acme/locations/global/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1")


def test_importing_the_module_loads_no_cryptography() -> None:
    script = "import sys, overnight.images.keys; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0
