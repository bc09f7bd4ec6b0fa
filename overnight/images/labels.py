"""Labels of an image, from its config blob in the registry (OCI image spec, annotations.md and config.md)."""

import json
from dataclasses import dataclass
from typing import Any

from overnight.images.errors import ImageError

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
