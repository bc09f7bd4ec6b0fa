"""From a compiled file to a template that is named by digest, once and for all."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from overnight.files import sha256_bytes
from overnight.pipeline.errors import TemplateError
from overnight.pipeline.registry import TemplateRegistry
from overnight.pipeline.repository import VERSION, check_name
from overnight.pipeline.specification import SCHEMA_VERSION

LARGEST = 4 * 1024 * 1024
"""Bytes; ours have some thousand."""


@dataclass(frozen=True)
class Published:
    """A template in a registry."""

    name: str
    version: str
    """`sha256:…`"""
    uri: str
    """By digest: what `template_uri` of a schedule is."""


def publish(registry: TemplateRegistry, content: bytes, name: str, tag: str) -> Published:
    """Upload a template and put `tag` on it; what is there already stays as it is.

    Raises TemplateError when the tag stands on other bytes: it is never moved.
    """
    version = f"sha256:{sha256_bytes(content)}"
    standing = registry.tagged(name, tag)
    if standing is None:
        registry.upload(name, content)
        # Somebody else may have created the tag in between.
        standing = version if registry.create_tag(name, tag, version) else registry.tagged(name, tag)
    if standing != version:
        raise TemplateError(
            f"the tag {tag} stands on {standing}, and this is {version}",
            where=registry.repository.template(name, tag),
            remedy="tags are not moved: publish it under the commit that it is made of",
        )
    return Published(name, version, registry.repository.template(name, version))


def resolve(registry: TemplateRegistry, name: str, version: str) -> Published:
    """The template that a tag stands on, or that a digest names, once its bytes have been seen to be there.

    Raises TemplateError when it is not there.
    """
    where = registry.repository.template(name, version)
    pinned = version if VERSION.fullmatch(version) else registry.tagged(name, version)
    if pinned is None:
        raise TemplateError("there is no such tag", where=where, remedy="publish it, or give another")
    if registry.download(name, pinned) is None:
        raise TemplateError("there is no such version", where=where, remedy="publish it, or give another")
    return Published(name, pinned, registry.repository.template(name, pinned))


def read_template(path: Path) -> tuple[bytes, str]:
    """A compiled file's bytes, and the name that the template in it has. Raises TemplateError, OSError."""
    with path.open("rb") as file:
        content = file.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise TemplateError(f"more than {LARGEST:,} bytes are no template", where=str(path))
    try:
        data: Any = json.loads(content)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict) or data.get("schemaVersion") != SCHEMA_VERSION:
        raise TemplateError(
            "this is no compiled template", where=str(path), remedy="make it by `overnight pipeline compile`"
        )
    info = data.get("pipelineInfo")
    name = info.get("name") if isinstance(info, dict) else None
    return content, check_name(name if isinstance(name, str) else "", where=f"{path}: pipelineInfo.name")
