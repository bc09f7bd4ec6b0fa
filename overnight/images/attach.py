"""Attestations beside an image: OCI artifacts whose `subject` is the image's manifest (OCI image and distribution 1.1).

A registry without the referrers API lists them in an index under the tag `sha256-<hex>`, which its clients keep up to
date (distribution specification, "Referrers Tag Schema"). cosign's `.att` tags are another, older scheme.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from overnight.images.descriptor import Descriptor
from overnight.images.envelope import ENVELOPE_TYPE, LARGEST, Envelope, read, sign, signed_by
from overnight.images.errors import ImageError
from overnight.images.keys import PrivateKey, PublicKey
from overnight.images.manifest import OCI_INDEX, OCI_MANIFEST, Manifest, NotAnImage, digest_of
from overnight.images.provenance import Evidence, Provenance, write
from overnight.images.reference import Reference
from overnight.images.registry import NotFound, Registry
from overnight.images.registry_errors import OtherBytes
from overnight.images.statement import read_bytes

EMPTY = "application/vnd.oci.empty.v1+json"
"""Media type of the config of what is no image; its content is `{}`."""
PREDICATE_TYPE = "in-toto.io/predicate-type"
"""Annotation that tells attestations apart without fetching them."""
TRIES = 5
"""Of putting an index that others put too: the specification has no conditional PUT."""


class Unusable(ImageError):
    """An artifact that is not the attestation it is listed as."""


@dataclass(frozen=True)
class Attached:
    """One attestation in the registry."""

    digest: str
    """Of the artifact's manifest."""
    envelope: Envelope | None
    problem: str = ""
    """Why there is no envelope."""


@dataclass(frozen=True)
class AttachedAttestations:
    """Attestations beside the image as a source of provenance, believed when one of `keys` signed them."""

    registry: Registry
    keys: Sequence[PublicKey]
    name: str = "attached to the image"
    absent: str = "no attestation is attached to the image; `overnight image attest` attaches one"

    def find(self, reference: Reference) -> list[Evidence]:
        """All attestations of the reference's digest. Raises ImageError when the registry cannot be asked."""
        return [self._evidence(item, reference.digest) for item in attestations(self.registry, reference)]

    def _evidence(self, attached: Attached, digest: str | None) -> Evidence:
        if attached.envelope is None:
            return Evidence(False, f"attestation {attached.digest[:19]}: {attached.problem}", None)
        signers = signed_by(attached.envelope, self.keys)
        trust = self._trust(attached.envelope, signers)
        try:
            provenance = read_bytes(attached.envelope.payload, digest)
        except ImageError as error:
            return Evidence(bool(signers), trust, None, error.problem)
        return Evidence(bool(signers), trust, provenance)

    def _trust(self, envelope: Envelope, signers: Sequence[str]) -> str:
        if signers:
            return f"signed by the key {_short(signers)}"
        expected = [key.key_id for key in self.keys]
        named = [signature.key_id for signature in envelope.signatures if signature.key_id]
        if set(named) & set(expected):
            return f"the signature of the key {_short(expected)} does not fit: the attestation was altered"
        by = f"signed by the key {_short(named)}" if named else "signed by a key that it does not name"
        return f"{by}, and not by the expected {_short(expected)}"


def attest(registry: Registry, reference: Reference, provenance: Provenance, key: PrivateKey) -> str:
    """Sign the statement about an image and attach it; the digest of what is attached.

    A statement that this key has attached already is not attached again. Raises ImageError.
    """
    if reference.digest is None or provenance.subject_digest != reference.digest:
        raise ImageError(f"the provenance is of {provenance.subject_digest}, another image", where=str(reference))
    image = registry.manifest(reference.path, reference.digest)
    payload = write(provenance, reference)
    for known in attestations(registry, reference):
        envelope = known.envelope
        if envelope is not None and envelope.payload == payload and signed_by(envelope, [key.public]):
            return known.digest
    return _attach(registry, reference.path, image, sign(payload, key), provenance.predicate_type)


def attestations(registry: Registry, reference: Reference) -> list[Attached]:
    """The attestations of the reference's digest, in the registry's order, also those that cannot be read.

    Raises ImageError when the registry does not list them.
    """
    listed = registry.referrers(reference.path, reference.digest or "")
    found = (_read(registry, reference, entry) for entry in listed if entry.artifact_type in (ENVELOPE_TYPE, None))
    return [item for item in found if item is not None]


def _read(registry: Registry, reference: Reference, entry: Descriptor) -> Attached | None:
    """An entry's attestation; None when only its manifest tells that it is something else.

    Raises ImageError when the registry cannot be asked: that is no word about the attestation.
    """
    try:
        manifest = registry.manifest(reference.path, entry.digest)
        if entry.artifact_type is None and manifest.artifact_type != ENVELOPE_TYPE:
            return None
        layer = _envelope_of(manifest, reference.digest)
        data = registry.blob(reference.path, layer.digest)
    except (NotFound, OtherBytes, NotAnImage, Unusable) as error:
        return Attached(entry.digest, None, error.sentence.rstrip("."))
    try:
        return Attached(entry.digest, read(data))
    except ImageError as error:
        return Attached(entry.digest, None, error.problem)


def _envelope_of(manifest: Manifest, subject: str | None) -> Descriptor:
    """The layer that holds the envelope. Raises Unusable."""
    if manifest.subject is None or manifest.subject.digest != subject:
        raise Unusable("it is listed for this image, and attached to another one")
    layers = [layer for layer in manifest.layers if layer.media_type == ENVELOPE_TYPE]
    if len(layers) != 1:
        raise Unusable("it holds no DSSE envelope, or several")
    if layers[0].size > LARGEST:
        raise Unusable(f"its envelope has {layers[0].size:,} bytes")
    return layers[0]


def _attach(registry: Registry, path: str, image: Manifest, envelope: bytes, predicate_type: str) -> str:
    config = registry.put_blob(path, b"{}")
    layer = registry.put_blob(path, envelope)
    body = _compact(
        {
            "schemaVersion": 2,
            "mediaType": OCI_MANIFEST,
            "artifactType": ENVELOPE_TYPE,
            "config": {"mediaType": EMPTY, "digest": config.digest, "size": config.size},
            "layers": [
                {
                    "mediaType": ENVELOPE_TYPE,
                    "digest": layer.digest,
                    "size": layer.size,
                    "annotations": {PREDICATE_TYPE: predicate_type},
                }
            ],
            "subject": image.descriptor.as_json(),
        }
    )
    attached = Manifest(OCI_MANIFEST, digest_of(body), body)
    registry.put_manifest(path, attached.digest, body, OCI_MANIFEST)
    _list(registry, path, image.digest, attached)
    return attached.digest


def _list(registry: Registry, path: str, subject: str, attached: Manifest) -> None:
    """See that the registry lists an artifact: by itself, or in the index under the tag that clients keep.

    Two clients may put that index at once, and the later one wins. Each looks whether it is in and tries again; one
    that has looked already is not asked again, so attest an image from one place at a time.
    """
    entry = {**attached.descriptor.as_json(), "artifactType": ENVELOPE_TYPE}
    for _ in range(TRIES):
        if any(known.digest == attached.digest for known in registry.referrers(path, subject)):
            return
        tag = subject.replace(":", "-")
        index = _index(registry, path, tag)
        index["manifests"].append(entry)
        registry.put_manifest(path, tag, _compact(index), OCI_INDEX)
    raise ImageError(
        f"the registry does not list what was attached, after {TRIES} tries",
        where=f"{registry.host}/{path}",
        remedy="attest the image again when nobody else does",
    )


def _index(registry: Registry, path: str, tag: str) -> dict[str, Any]:
    """The index under the tag, with everything that others wrote; an empty one when there is none.

    Registries refuse an index that names what was deleted, so such entries go.
    """
    if not registry.exists(path, tag):
        return {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}
    found = registry.manifest(path, tag)
    if found.media_type != OCI_INDEX:
        raise ImageError(
            "this tag should hold the list of attestations, and holds something else",
            where=f"{registry.host}/{path}:{tag}",
            remedy="remove the tag",
        )
    kept = [entry for entry in found.data["manifests"] if registry.exists(path, entry["digest"])]
    return {**found.data, "manifests": kept}


def _compact(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _short(key_ids: Sequence[str]) -> str:
    """The beginnings of key ids, for sentences."""
    return " and ".join(key_id if "/" in key_id else key_id[:12] for key_id in key_ids)
