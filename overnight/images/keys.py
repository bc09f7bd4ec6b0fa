"""Keys that sign attestations: ECDSA on P-256, as PEM files (PKCS#8 private, SubjectPublicKeyInfo public).

Cloud KMS (`gcpkms:` addresses) would need google-cloud-kms and is not offered: in Google Cloud the provenance is
Cloud Build's own.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from overnight.files import fsync_folder, write_atomically
from overnight.images.errors import ImageError

LARGEST_FILE = 64 * 1024
"""Bytes; a key file has about 200."""
PUBLIC_SUFFIX = ".pub"
MAKE = "`overnight image attest` without --key makes a pair"


@dataclass(frozen=True)
class PublicKey:
    """What signatures are checked with."""

    key: Any
    """A securesystemslib SSlibKey."""

    @property
    def key_id(self) -> str:
        """Hex digits, a function of the key alone (securesystemslib's default id)."""
        return str(self.key.keyid)


@dataclass(frozen=True)
class PrivateKey:
    """What signs."""

    signer: Any
    """A securesystemslib CryptoSigner."""

    @property
    def public(self) -> PublicKey:
        """The half that may be given away."""
        return PublicKey(self.signer.public_key)


def key_pair(private: Path) -> PrivateKey:
    """The pair whose private half is `private`, made (mode 0600) if it is not there; the public half stands beside it.

    Neither file is ever overwritten. Raises ImageError when they are no pair.
    """
    if not private.exists():
        _make(private)
    key = read_private_key(private)
    public = private.with_suffix(PUBLIC_SUFFIX)
    if not public.exists():
        write_atomically(public, _public_pem(key))
    elif read_public_key(public).key_id != key.public.key_id:
        raise ImageError(
            f"this is not the public half of {private.name}",
            where=str(public),
            remedy="remove the wrong one of the two",
        )
    return key


def read_private_key(path: Path | str) -> PrivateKey:
    """The private key in a PEM file; every other file is refused by ImageError in one sentence."""
    if str(path).startswith("gcpkms:"):
        raise ImageError("keys in Cloud KMS are not supported", where=str(path), remedy="give a PEM file")
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    file = Path(path)
    data = _read(file)
    label = _label(data)
    if "PUBLIC KEY" in label:
        _refuse(file, "this is a public key, and the private one is needed")
    if "ENCRYPTED" in label or b"Proc-Type: 4,ENCRYPTED" in data:
        _refuse(
            file, "this key is encrypted, and there is nobody to ask for its password", "give it unencrypted, mode 0600"
        )
    _check_label(file, label, "PRIVATE KEY")
    try:
        key = load_pem_private_key(data, None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        _refuse(file, f"this private key cannot be read ({_first_line(error)})", MAKE)
    _check_kind(file, key)
    return PrivateKey(library().CryptoSigner(key))


def read_public_key(path: Path | str) -> PublicKey:
    """The public key in a PEM file; every other file is refused by ImageError in one sentence."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    file = Path(path)
    data = _read(file)
    label = _label(data)
    if "PRIVATE KEY" in label:
        _refuse(file, "this is a private key, and the public one is meant", f"give the {PUBLIC_SUFFIX} file beside it")
    _check_label(file, label, "PUBLIC KEY")
    try:
        key = load_pem_public_key(data)
    except (ValueError, UnsupportedAlgorithm) as error:
        _refuse(file, f"this public key cannot be read ({_first_line(error)})")
    _check_kind(file, key)
    return PublicKey(library().SSlibKey.from_crypto(key))


def library() -> Any:
    """securesystemslib's keys and signers, which it exports to everyone but mypy; slow to import."""
    from securesystemslib import signer

    return signer


def _make(private: Path) -> None:
    """Write a new key in full under another name, then link it into place: a link never replaces a file."""
    private.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp makes the file with mode 0600.
    descriptor, name = tempfile.mkstemp(prefix=f".{private.name}.", suffix=".tmp", dir=private.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(library().CryptoSigner.generate_ecdsa().private_bytes)
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(name, private)
        except FileExistsError:
            return  # another process made one at this moment, and that is the key
    finally:
        Path(name).unlink(missing_ok=True)
    fsync_folder(private.parent)


def _public_pem(key: PrivateKey) -> bytes:
    return str(key.public.key.keyval["public"]).encode()


def _read(file: Path) -> bytes:
    if file.is_dir():
        _refuse(file, "this is a folder, and a key is one file")
    if not file.exists():
        _refuse(file, "there is no such key", MAKE)
    if not file.is_file():
        _refuse(file, "this is not a regular file")
    with file.open("rb") as opened:
        data = opened.read(LARGEST_FILE + 1)
    if not data.strip():
        _refuse(file, "this file is empty, and a key is expected", MAKE)
    if len(data) > LARGEST_FILE:
        _refuse(file, "this file is too large to be a key")
    return data


def _label(data: bytes) -> str:
    """The word of the first PEM block, such as CERTIFICATE; empty when there is none."""
    _, found, rest = data.partition(b"-----BEGIN ")
    return rest.partition(b"-----")[0].decode("ascii", "replace") if found else ""


def _check_label(file: Path, label: str, wanted: str) -> None:
    if not label:
        _refuse(file, "this is not a PEM file (no line -----BEGIN …-----)", f"give the PEM file of a {wanted.lower()}")
    if label == "OPENSSH PRIVATE KEY":
        _refuse(file, "this is a key of ssh", MAKE)
    if wanted not in label:
        _refuse(file, f"this PEM file holds a {label.lower()[:40]} and no {wanted.lower()}")


def _check_kind(file: Path, key: object) -> None:
    from cryptography.hazmat.primitives.asymmetric import ec

    curve = getattr(key, "curve", None)
    if isinstance(curve, ec.SECP256R1):
        return
    kind = type(key).__name__.lstrip("_").removesuffix("PrivateKey").removesuffix("PublicKey")
    called = f"an EC key on the curve {curve.name}" if isinstance(curve, ec.EllipticCurve) else f"a key of kind {kind}"
    _refuse(file, f"this is {called}, and attestations are signed with ECDSA on P-256", MAKE)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:120]


def _refuse(file: Path, problem: str, remedy: str | None = None) -> NoReturn:
    raise ImageError(problem, where=str(file), remedy=remedy)
