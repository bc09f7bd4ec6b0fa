"""Labels of an image, from its config blob in the registry (OCI image spec, annotations.md and config.md)."""

import json
from dataclasses import dataclass
from typing import Any

from overnight.images.errors import ImageError
from overnight.images.manifest import platforms_of
from overnight.images.reference import Reference
from overnight.images.registry import Registry
from overnight.images.source_address import parse_commit, parse_source

SOURCE = "org.opencontainers.image.source"
REVISION = "org.opencontainers.image.revision"
TITLE = "org.opencontainers.image.title"
CPU = "dev.overnight.cpu"
LARGEST_CONFIG = 4 * 1024 * 1024
"""Bytes, as distribution's bound of a manifest; a config has about 5,000."""


@dataclass(frozen=True)
class Labels:
    """What an image says of itself; anyone who builds an image can write anything here."""

    source: str | None = None
    revision: str | None = None
    title: str | None = None
    cpu: str | None = None


def read_labels(registry: Registry, reference: Reference) -> Labels:
    """The labels of one image, by its digest or else its tag. Raises ImageError, also for a manifest list."""
    manifest = registry.manifest(reference.path, reference.digest or reference.tag or "")
    if manifest.config is None:
        problem = f"this is a manifest list ({platforms_of(manifest)})"
        raise ImageError(problem, where=str(reference), remedy="give the digest of one platform's image")
    if manifest.config.size > LARGEST_CONFIG:
        raise ImageError(f"the config has {manifest.config.size:,} bytes", where=str(reference))
    return labels_of(registry.blob(reference.path, manifest.config.digest))


def origin(labels: Labels, source: str | None, commit: str | None, where: str) -> tuple[str, str]:
    """Source (in normal form) and commit: what was given, which the labels must not contradict, else the labels'.

    `where` is the image. Raises ImageError where they differ, or where neither says it.
    """
    labelled = (labels.source and parse_source(labels.source, f"{where}: label {SOURCE}")) or None
    given = (source and parse_source(source, "--source")) or None
    revision = (labels.revision and parse_commit(labels.revision, f"{where}: label {REVISION}")) or None
    wanted = (commit and parse_commit(commit, "--commit")) or None
    return _one(given, labelled, "--source", SOURCE, where), _one(wanted, revision, "--commit", REVISION, where)


def _one(given: str | None, labelled: str | None, flag: str, label: str, where: str) -> str:
    if given is not None and labelled is not None and given != labelled:
        problem = f"the label {label} is {labelled}, and {flag} says {given}"
        raise ImageError(problem, where=where, remedy=f"leave {flag} out, or attest the image that was meant")
    found = given or labelled
    if found is None:
        raise ImageError(f"the image has no label {label}", where=where, remedy=f"give {flag}")
    return found


def labels_of(config: bytes) -> Labels:
    """The labels in a config blob. Raises ImageError when it is no image config."""
    try:
        value = json.loads(config)
    except (ValueError, RecursionError):
        raise ImageError("the image's config is not JSON") from None
    if not isinstance(value, dict):
        raise ImageError("the image's config is not an object")
    settings = value.get("config")
    found: Any = settings.get("Labels") if isinstance(settings, dict) else None
    labels = found if isinstance(found, dict) else {}
    return Labels(*(_text(labels.get(name)) for name in (SOURCE, REVISION, TITLE, CPU)))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
