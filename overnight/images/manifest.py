"""Manifests and indexes as registries serve them: the four media types that are in use, read strictly."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from overnight.images.descriptor import (
    Descriptor,
    Platform,
    Unreadable,
    annotations_of,
    read_descriptor,
    read_descriptors,
)
from overnight.images.errors import ImageError

__all__ = ["Descriptor", "Manifest", "Platform", "choose", "digest_of", "parse_manifest", "platforms_of"]

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_LIST = "application/vnd.docker.distribution.manifest.list.v2+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
MEDIA_TYPES = (OCI_INDEX, OCI_MANIFEST, DOCKER_LIST, DOCKER_MANIFEST)
INDEX_TYPES = frozenset({OCI_INDEX, DOCKER_LIST})
DOCKER_SCHEMA_1 = frozenset(
    {
        "application/vnd.docker.distribution.manifest.v1+json",
        "application/vnd.docker.distribution.manifest.v1+prettyjws",
    }
)
LARGEST = 4 * 2**20
"""Bytes that registries take for a manifest at most (OCI distribution specification)."""
UNSPECIFIC = frozenset({"", "application/json", "application/octet-stream", "text/plain"})
"""Content types that say nothing: the body's own `mediaType` counts then."""


class NotAnImage(ImageError):
    """The registry served the bytes that were named, and they are no manifest that can be used."""


@dataclass(frozen=True)
class Manifest:
    """An image's manifest or an index of several; made by `parse_manifest`, which has checked it."""

    media_type: str
    digest: str
    """`sha256:` of `body`."""
    body: bytes = field(repr=False)

    @cached_property
    def data(self) -> dict[str, Any]:
        """The JSON object."""
        return dict(json.loads(self.body))

    @property
    def is_index(self) -> bool:
        """Whether it lists manifests (OCI index, Docker manifest list) instead of layers."""
        return self.media_type in INDEX_TYPES

    @property
    def descriptor(self) -> Descriptor:
        """What another manifest says to refer to this one."""
        return Descriptor(self.media_type, self.digest, len(self.body))

    @property
    def config(self) -> Descriptor | None:
        """The image's configuration; None of an index."""
        return None if self.is_index else read_descriptor(self.data["config"], "config")

    @property
    def layers(self) -> tuple[Descriptor, ...]:
        """The layers, lowest first; none of an index."""
        return () if self.is_index else read_descriptors(self.data, "layers")

    @property
    def manifests(self) -> tuple[Descriptor, ...]:
        """What an index lists; nothing of a manifest."""
        return read_descriptors(self.data, "manifests") if self.is_index else ()

    @property
    def images(self) -> tuple[Descriptor, ...]:
        """What an index lists without attestations."""
        return tuple(entry for entry in self.manifests if not entry.is_attestation)

    @property
    def subject(self) -> Descriptor | None:
        """What an attached artifact is about."""
        return read_descriptor(self.data["subject"], "subject") if self.data.get("subject") is not None else None

    @property
    def artifact_type(self) -> str | None:
        """What kind of artifact it is, where it is no image."""
        value = self.data.get("artifactType")
        return value if isinstance(value, str) else None

    @property
    def annotations(self) -> Mapping[str, str]:
        """The manifest's own annotations."""
        return annotations_of(self.data, "manifest")


def digest_of(data: bytes) -> str:
    """`sha256:` and the hex digest of `data`."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def parse_manifest(body: bytes, content_type: str | None = None, where: str | None = None) -> Manifest:
    """Check `body`, which came with `content_type` from `where`; raises ImageError."""
    try:
        data = _json_object(body)
        media_type = _media_type(data, content_type)
        manifest = Manifest(media_type, digest_of(body), body)
        _check_shape(manifest, data)
    except Unreadable as error:
        raise NotAnImage(str(error), where=where, remedy=error.remedy) from None
    return manifest


def choose(index: Manifest, platform: Platform, where: str | None = None) -> Descriptor:
    """The index's image for `platform`; raises ImageError when there is none, or when its variant must be named."""
    found = [entry for entry in index.images if entry.platform is not None and _fits(entry.platform, platform)]
    exact = [entry for entry in found if entry.platform == platform]
    if exact or len(found) == 1:
        return (exact or found)[0]
    if not found:
        raise ImageError(
            f"the manifest list has no image for {platform}, only {platforms_of(index)}",
            where=where,
            remedy="name a platform that it has",
        )
    several = ", ".join(str(entry.platform) for entry in found)
    raise ImageError(f"{platform} can be {several}", where=where, remedy="name the variant too")


def platforms_of(index: Manifest) -> str:
    """The platforms of an index's images, for a sentence."""
    known = sorted({str(entry.platform) for entry in index.images if entry.platform is not None})
    unknown = sum(entry.platform is None for entry in index.images)
    told = [*known, *([f"{unknown} of no stated platform"] if unknown else [])]
    return ", ".join(told) or "no image at all"


def _fits(found: Platform, wanted: Platform) -> bool:
    same = (found.os, found.architecture) == (wanted.os, wanted.architecture)
    return same and (not wanted.variant or found.variant == wanted.variant)


def _json_object(body: bytes) -> dict[str, Any]:
    if len(body) > LARGEST:
        raise Unreadable(f"the manifest has {len(body):,} bytes, more than the {LARGEST:,} of the specification")
    try:
        data = json.loads(body, object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        if isinstance(error, _Twice):
            raise Unreadable(f"the manifest has the field {error.args[0]!r} twice") from None
        raise Unreadable("what the registry serves as a manifest is not JSON", "check the registry's address") from None
    if not isinstance(data, dict):
        raise Unreadable("what the registry serves as a manifest is no JSON object", "check the registry's address")
    return data


class _Twice(ValueError):
    """Readers differ in which one counts."""


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key, value in pairs:
        if key in data:
            raise _Twice(key)
        data[key] = value
    return data


def _media_type(data: dict[str, Any], content_type: str | None) -> str:
    """One of the four, agreed upon by the header and the body."""
    header = (content_type or "").partition(";")[0].strip().lower()
    own = data.get("mediaType", "")
    if not isinstance(own, str):
        raise Unreadable(f"the manifest's mediaType is {own!r:.100}, which is no text")
    if DOCKER_SCHEMA_1 & {header, own} or (not own and data.get("schemaVersion") == 1):
        raise Unreadable("the manifest is of schema 1, which is no longer in use")
    if own and header not in UNSPECIFIC and own != header:
        raise Unreadable(f"the manifest says it is {own!r:.100}, and the registry says {header!r:.100}")
    media_type = own or header
    if media_type not in MEDIA_TYPES:
        told = f"{media_type!r:.100}" if media_type not in UNSPECIFIC else "of no stated media type"
        raise Unreadable(f"the manifest is {told}, neither an image's manifest nor a list of them")
    return media_type


def _check_shape(manifest: Manifest, data: dict[str, Any]) -> None:
    if data.get("schemaVersion") != 2 or isinstance(data.get("schemaVersion"), bool):
        raise Unreadable(f"the manifest's schemaVersion is {data.get('schemaVersion')!r:.100} where 2 is expected")
    if "manifests" in data and ("layers" in data or "config" in data):
        # CVE-2021-41190: one reader takes it for an image, another one for an index.
        raise Unreadable("the manifest has both layers and manifests, and readers differ in what it is")
    if manifest.is_index:
        read_descriptors(data, "manifests")
    else:
        read_descriptor(data.get("config"), "config")
        read_descriptors(data, "layers")
    if data.get("subject") is not None:
        read_descriptor(data["subject"], "subject")
    annotations_of(data, "manifest")
