"""From a tag to the digest that it points to now: resolve once, write the digest down, never resolve again."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from overnight.images.descriptor import LINUX, Platform
from overnight.images.errors import ImageError
from overnight.images.manifest import INDEX_TYPES, MEDIA_TYPES, Manifest, choose, platforms_of
from overnight.images.reference import Reference
from overnight.images.registry import Registry, registry_for

if TYPE_CHECKING:
    from overnight.images.artifact_registry import ArtifactRegistry

CONFIG_TYPES = frozenset({"application/vnd.oci.image.config.v1+json", "application/vnd.docker.container.image.v1+json"})


@dataclass(frozen=True)
class Resolved:
    """What a reference names, by digest."""

    reference: Reference
    """HOST/PATH@sha256:…, without tag."""
    media_type: str | None
    """None where Artifact Registry does not say."""
    size: int | None
    """Bytes of the manifest; None where Artifact Registry was asked, which does not say."""
    platform: Platform | None
    """None of an index, and where nobody says."""


@dataclass(frozen=True)
class Wanted:
    """What may be resolved to."""

    platform: Platform | None = None
    """Of an index take this platform's image; of a single image, refuse another platform. None: linux/amd64."""
    allow_index: bool = False
    """Whether the digest of an index will do."""
    own: str | None = None
    """HOST/PATH of the repository that we push to: single manifests only."""


ANYTHING = Wanted()


def resolve(
    reference: Reference,
    *,
    wanted: Wanted = ANYTHING,
    registry: Registry | None = None,
    artifact_registry: "ArtifactRegistry | None" = None,
) -> Reference:
    """`reference` by digest; raises ImageError."""
    return resolve_image(reference, wanted, registry=registry, artifact_registry=artifact_registry).reference


def resolve_image(
    reference: Reference,
    wanted: Wanted = ANYTHING,
    *,
    registry: Registry | None = None,
    artifact_registry: "ArtifactRegistry | None" = None,
) -> Resolved:
    """The digest, and what is known of what it names.

    Asks Artifact Registry's API for images that stand there, the registry itself otherwise; a tag beside a digest
    must still point to it. Raises ImageError.
    """
    if reference.tag is None and reference.digest is None:
        raise ImageError(
            "it names neither tag nor digest, and `latest` is not assumed", where=str(reference), remedy="add :TAG"
        )
    if reference.google and (registry is None or artifact_registry is not None):
        found = _by_google(reference, wanted, artifact_registry)
        if isinstance(found, Resolved):
            return found
        reference = found
    return _by_registry(reference, wanted, registry or registry_for(reference))


def _by_google(reference: Reference, wanted: Wanted, api: "ArtifactRegistry | None") -> Resolved | Reference:
    """What remains for the registry itself: all when the API has no credentials, an index when it is found."""
    from overnight.images.artifact_registry import ArtifactRegistry, NoCredentials

    try:
        api = api or ArtifactRegistry()
    except NoCredentials:
        return reference
    digest = reference.digest if reference.tag is None else _agreed(reference, api.tagged(reference))
    version = api.version(reference, str(digest))
    pinned = reference.with_digest(version.digest)
    if version.media_type is None or (version.media_type in INDEX_TYPES and not wanted.allow_index):
        return pinned
    if version.media_type not in MEDIA_TYPES:
        problem = f"this is {version.media_type!r:.100}, no container image"
        raise ImageError(problem, where=str(pinned), remedy="check the repository and the name")
    return Resolved(pinned, version.media_type, None, None)


def _by_registry(reference: Reference, wanted: Wanted, registry: Registry) -> Resolved:
    manifest = registry.manifest(reference.path, reference.tag or reference.digest or "")
    _agreed(reference, manifest.digest)
    platform = None
    if manifest.is_index and not wanted.allow_index:
        manifest, platform = _of_index(reference, manifest, wanted, registry)
    if not manifest.is_index:
        platform = _checked_platform(reference, manifest, wanted, registry) or platform
    return Resolved(reference.with_digest(manifest.digest), manifest.media_type, len(manifest.body), platform)


def _agreed(reference: Reference, digest: str) -> str:
    """The digest that the tag points to; raises ImageError when the reference names another one."""
    if reference.digest is not None and reference.digest != digest:
        raise ImageError(
            f"the tag {reference.tag!r} points to {digest} now",
            where=str(reference),
            remedy="leave the tag out if this digest is meant, or take the new digest",
        )
    return digest


def _of_index(
    reference: Reference, index: Manifest, wanted: Wanted, registry: Registry
) -> tuple[Manifest, Platform | None]:
    """The index's image for the platform that was asked for; raises ImageError when none was."""
    where = str(reference)
    listed = platforms_of(index)
    if wanted.own is not None and reference.repository.startswith(f"{wanted.own}/"):
        raise ImageError(
            f"this is a manifest list ({listed}), and images of this repository are single manifests",
            where=where,
            remedy="build it for one platform and without attestations inside (BUILDX_NO_DEFAULT_ATTESTATIONS=1)",
        )
    if wanted.platform is None:
        raise ImageError(
            f"this is a manifest list ({listed})",
            where=where,
            remedy=f"take one image of it with --platform {LINUX}, or the list with --allow-index",
        )
    chosen = choose(index, wanted.platform, where=where)
    manifest = registry.manifest(reference.path, chosen.digest)
    if manifest.is_index:
        raise ImageError(
            "the manifest list lists another manifest list", where=where, remedy="name one of its images by digest"
        )
    return manifest, chosen.platform


def _checked_platform(reference: Reference, manifest: Manifest, wanted: Wanted, registry: Registry) -> Platform | None:
    """What the image's own configuration says it runs on; raises ImageError when it is another platform."""
    config = manifest.config
    if config is None or config.media_type not in CONFIG_TYPES:
        return None
    found = _platform_in(registry.blob(reference.path, config.digest), reference)
    asked = wanted.platform or LINUX
    if found is not None and (found.os, found.architecture) != (asked.os, asked.architecture):
        raise ImageError(
            f"the image is for {found}, and {asked} is wanted",
            where=str(reference),
            remedy=f"build it for {asked}, or give --platform {found}",
        )
    return found


def _platform_in(config: bytes, reference: Reference) -> Platform | None:
    try:
        data = json.loads(config)
        named = [data.get(key) or "" for key in ("os", "architecture", "variant")]
    except (ValueError, AttributeError, RecursionError):
        problem = "the image's configuration is no JSON object"
        raise ImageError(problem, where=str(reference), remedy="build the image again") from None
    if not all(isinstance(part, str) for part in named) or not all(named[:2]):
        return None
    return Platform(*named)
