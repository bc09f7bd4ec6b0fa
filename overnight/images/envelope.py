"""Signed statements: DSSE envelopes (github.com/secure-systems-lab/dsse), which cosign and Cloud Build use too."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from overnight.images.errors import ImageError
from overnight.images.keys import PrivateKey, PublicKey, library

PAYLOAD_TYPE = "application/vnd.in-toto+json"
ENVELOPE_TYPE = "application/vnd.dsse.envelope.v1+json"
"""Media type of the envelope's JSON, and artifactType of what it is attached as."""
LARGEST = 16 * 1024 * 1024
"""Bytes; Cloud Build's provenance with all steps has about 10,000."""


@dataclass(frozen=True)
class Signature:
    """One signature."""

    key_id: str
    """As written: a hint that nobody has signed, often empty (cosign's)."""
    bytes: bytes


@dataclass(frozen=True)
class Envelope:
    """A payload and signatures over it and its type."""

    payload: bytes
    payload_type: str
    signatures: tuple[Signature, ...]


def sign(payload: bytes, key: PrivateKey, *more: PrivateKey) -> bytes:
    """The envelope's JSON, signed by each key. ECDSA signatures are random: two envelopes of one payload differ."""
    from securesystemslib.dsse import Envelope as DsseEnvelope

    envelope = DsseEnvelope(payload, PAYLOAD_TYPE, {})
    for each in (key, *more):
        envelope.sign(each.signer)
    return json.dumps(envelope.to_dict(), sort_keys=True, separators=(",", ":")).encode()


def read(data: bytes) -> Envelope:
    """The envelope that JSON text holds; no signature is checked. Raises ImageError."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        raise ImageError("the attestation is not JSON") from None
    if not isinstance(value, dict) or not isinstance(value.get("payload"), str):
        raise ImageError("the attestation is not a DSSE envelope")
    if value.get("payloadType") != PAYLOAD_TYPE:
        raise ImageError(f"the attestation's payload is {value.get('payloadType')!r} and not {PAYLOAD_TYPE}")
    signatures = value.get("signatures")
    if not isinstance(signatures, list) or not signatures:
        raise ImageError("the attestation is not signed")
    return Envelope(_decode(value["payload"]), PAYLOAD_TYPE, tuple(_signature(item) for item in signatures))


def signed_by(envelope: Envelope, keys: Sequence[PublicKey]) -> tuple[str, ...]:
    """Ids of those `keys` that made a valid signature, whatever key ids the envelope names."""
    from securesystemslib.dsse import Envelope as DsseEnvelope

    signed = DsseEnvelope(envelope.payload, envelope.payload_type, {}).pae()
    return tuple(
        key.key_id for key in keys if any(_valid(key, signature.bytes, signed) for signature in envelope.signatures)
    )


def _valid(key: PublicKey, signature: bytes, signed: bytes) -> bool:
    from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError

    try:
        key.key.verify_signature(library().Signature(key.key_id, signature.hex()), signed)
    except (UnverifiedSignatureError, VerificationError):
        return False
    return True


def _signature(item: Any) -> Signature:
    if not isinstance(item, dict) or not isinstance(item.get("sig"), str):
        raise ImageError("the attestation holds something that is no signature")
    key_id = item.get("keyid")
    return Signature(key_id if isinstance(key_id, str) else "", _decode(item["sig"]))


def _decode(text: str) -> bytes:
    """Base64 in either alphabet, as DSSE asks of readers, with or without padding."""
    try:
        padded = text + "=" * (-len(text) % 4)
        return base64.b64decode(padded.replace("-", "+").replace("_", "/"), validate=True)
    except (binascii.Error, ValueError):
        raise ImageError("the attestation holds text that is not base64") from None
