"""What a manifest says about bytes that stand elsewhere in the registry, and for which platform."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from overnight.images.errors import ImageError
from overnight.images.reference_parts import DIGEST

ATTESTATION = "vnd.docker.reference.type"
"""BuildKit's annotation on the entries of an index that are no image."""


@dataclass(frozen=True, order=True)
class Platform:
    """What an image runs on."""

    os: str
    architecture: str
    variant: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.os, self.architecture, self.variant) if part)


LINUX = Platform("linux", "amd64")
"""Where Vertex AI runs containers."""


@dataclass(frozen=True)
class Descriptor:
    """What a manifest says about bytes that stand elsewhere in the registry."""

    media_type: str
    digest: str
    size: int
    """Bytes."""
    annotations: Mapping[str, str] = field(default_factory=dict, hash=False)
    artifact_type: str | None = None
    platform: Platform | None = None

    @property
    def is_attestation(self) -> bool:
        """Whether an index's entry is about an image and not an image."""
        unknown = self.platform is not None and self.platform.os == self.platform.architecture == "unknown"
        return unknown or ATTESTATION in self.annotations

    def as_json(self) -> dict[str, Any]:
        """The descriptor as manifests write it."""
        value: dict[str, Any] = {"mediaType": self.media_type, "digest": self.digest, "size": self.size}
        if self.artifact_type is not None:
            value["artifactType"] = self.artifact_type
        if self.annotations:
            value["annotations"] = dict(self.annotations)
        if self.platform is not None:
            value["platform"] = {"os": self.platform.os, "architecture": self.platform.architecture}
            if self.platform.variant:
                value["platform"]["variant"] = self.platform.variant
        return value


def parse_platform(text: str) -> Platform:
    """`OS/ARCHITECTURE[/VARIANT]`; raises ImageError."""
    parts = text.split("/")
    if len(parts) not in (2, 3) or not all(part.isascii() and part.isalnum() and part.islower() for part in parts):
        raise ImageError(f"{text!r} is no platform", remedy="write OS/ARCHITECTURE, such as linux/amd64")
    return Platform(*parts)


class Unreadable(Exception):
    """A manifest that cannot be used; never leaves `overnight.images`."""

    def __init__(self, problem: str, remedy: str = "push the image again with a current tool") -> None:
        self.remedy = remedy
        super().__init__(problem)


def read_descriptors(data: dict[str, Any], key: str) -> tuple[Descriptor, ...]:
    """The descriptors under `key`; raises Unreadable."""
    values = data.get(key)
    if not isinstance(values, list):
        raise Unreadable(f"the manifest has no list {key!r}")
    return tuple(read_descriptor(value, f"{key}[{position}]") for position, value in enumerate(values))


def read_descriptor(value: Any, what: str) -> Descriptor:
    """One descriptor, called `what` in sentences; raises Unreadable."""
    if not isinstance(value, dict):
        raise Unreadable(f"the manifest's {what} is no descriptor")
    media_type, digest, size = value.get("mediaType"), value.get("digest"), value.get("size")
    if not isinstance(media_type, str) or not media_type:
        raise Unreadable(f"the manifest's {what} has no mediaType")
    if not isinstance(digest, str) or not DIGEST.fullmatch(digest):
        raise Unreadable(f"the digest of the manifest's {what} is {digest!r:.100}, no sha256 digest")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise Unreadable(f"the size of the manifest's {what} is {size!r:.100}, no number of bytes")
    kind = value.get("artifactType")
    kind = kind if isinstance(kind, str) else None
    return Descriptor(media_type, digest, size, annotations_of(value, what), kind, _platform(value, what))


def annotations_of(value: dict[str, Any], what: str) -> dict[str, str]:
    """The annotations of a manifest or descriptor; raises Unreadable."""
    annotations = value.get("annotations") or {}
    if not isinstance(annotations, dict) or not all(isinstance(text, str) for text in annotations.values()):
        raise Unreadable(f"the annotations of the manifest's {what} are no texts by name")
    return annotations


def _platform(value: dict[str, Any], what: str) -> Platform | None:
    platform = value.get("platform")
    if platform is None:
        return None
    keys = ("os", "architecture", "variant")
    if not isinstance(platform, dict) or not all(isinstance(platform.get(key, ""), str) for key in keys):
        raise Unreadable(f"the platform of the manifest's {what} is no operating system and architecture")
    return Platform(*(platform.get(key, "") for key in keys))
