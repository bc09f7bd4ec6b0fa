"""The two forms that tools save images in: Docker's (manifest.json) and OCI's (index.json); both are tar files."""

import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from overnight.images.errors import ImageError

_LARGEST_JSON = 8 << 20
_DIGEST_PARTS = 2
_INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_ATTESTATION = "vnd.docker.reference.type"
"""Annotation of what BuildKit puts beside an image in its index."""


@dataclass(frozen=True)
class ArchiveLayer:
    """One layer in the archive."""

    member: str
    """Its file in the archive."""
    diff_id: str
    """The digest of its uncompressed bytes, by the image's configuration."""


@dataclass(frozen=True)
class Archive:
    """An image in an open archive."""

    config: Mapping[str, Any]
    layers: tuple[ArchiveLayer, ...]
    tar: tarfile.TarFile
    where: str

    def open(self, layer: ArchiveLayer) -> IO[bytes]:
        """The layer's bytes as they are stored."""
        return _open(self.tar, layer.member, self.where)


@contextmanager
def open_archive(path: Path) -> Iterator[Archive]:
    """The one image in the archive at `path`. Raises ImageError, OSError."""
    where = str(path)
    try:
        tar = tarfile.open(path, "r:")  # noqa: SIM115 -- closed below
    except tarfile.TarError:
        raise ImageError(
            "this is no image archive", where=where, remedy="give what docker save or podman save wrote"
        ) from None
    with tar:
        names = set(tar.getnames())
        if "manifest.json" in names:
            config, members = _docker(tar, where)
        elif "index.json" in names:
            config, members = _oci(tar, where)
        else:
            raise ImageError(
                "this tar file holds no image", where=where, remedy="give what docker save or podman save wrote"
            )
        yield Archive(config, _layers(config, members, where), tar, where)


def _docker(tar: tarfile.TarFile, where: str) -> tuple[Mapping[str, Any], list[str]]:
    images = _json(tar, "manifest.json", where)
    if not isinstance(images, list) or not images:
        raise _malformed("manifest.json lists no image", where)
    _one(len(images), where)
    image = images[0]
    config, layers = (image.get("Config"), image.get("Layers")) if isinstance(image, dict) else (None, None)
    members = _texts(layers)
    if not isinstance(config, str) or members is None:
        raise _malformed("manifest.json names no configuration or no layers", where)
    return _object(tar, config, where), members


def _oci(tar: tarfile.TarFile, where: str) -> tuple[Mapping[str, Any], list[str]]:
    index = _object(tar, "index.json", where)
    for _ in range(_DIGEST_PARTS):
        manifests = [item for item in _list(index, "manifests", where) if not _is_attestation(item)]
        if not manifests:
            raise _malformed("the index lists no image", where)
        _one(len(manifests), where)
        value = _object(tar, _blob(manifests[0], where), where)
        if manifests[0].get("mediaType") not in _INDEXES:
            config = value.get("config")
            layers = _list(value, "layers", where)
            return _object(tar, _blob(config, where), where), [_blob(layer, where) for layer in layers]
        index = value
    raise _malformed("indexes stand within indexes", where)


def _layers(config: Mapping[str, Any], members: list[str], where: str) -> tuple[ArchiveLayer, ...]:
    rootfs = config.get("rootfs")
    digests = _texts(rootfs.get("diff_ids") if isinstance(rootfs, dict) else None)
    if digests is None or len(digests) != len(members):
        raise _malformed("the configuration does not name the digest of each layer", where)
    return tuple(ArchiveLayer(member, digest) for member, digest in zip(members, digests, strict=True))


def _one(count: int, where: str) -> None:
    if count != 1:
        raise ImageError(f"the archive holds {count} images", where=where, remedy="save one image into one archive")


def _is_attestation(item: Any) -> bool:
    annotations = item.get("annotations") if isinstance(item, dict) else None
    return isinstance(annotations, dict) and _ATTESTATION in annotations


def _blob(descriptor: Any, where: str) -> str:
    digest = descriptor.get("digest") if isinstance(descriptor, dict) else None
    parts = digest.split(":") if isinstance(digest, str) else []
    if len(parts) != _DIGEST_PARTS:
        raise _malformed("a descriptor has no digest", where)
    return f"blobs/{parts[0]}/{parts[1]}"


def _list(value: Mapping[str, Any], name: str, where: str) -> list[Any]:
    found = value.get(name)
    if not isinstance(found, list):
        raise _malformed(f"{name} is no list", where)
    return found


def _texts(value: Any) -> list[str] | None:
    return list(value) if isinstance(value, list) and all(isinstance(item, str) for item in value) else None


def _object(tar: tarfile.TarFile, name: str, where: str) -> Mapping[str, Any]:
    value = _json(tar, name, where)
    if not isinstance(value, dict):
        raise _malformed(f"{name} is no JSON object", where)
    return value


def _json(tar: tarfile.TarFile, name: str, where: str) -> Any:
    with _open(tar, name, where) as file:
        data = file.read(_LARGEST_JSON + 1)
    if len(data) > _LARGEST_JSON:
        raise _malformed(f"{name} is longer than {_LARGEST_JSON >> 20} MiB", where)
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _malformed(f"{name} is not JSON ({error})", where) from None


def _open(tar: tarfile.TarFile, name: str, where: str) -> IO[bytes]:
    try:
        file = tar.extractfile(name)
    except KeyError:
        file = None
    if file is None:
        raise _malformed(f"{name} is missing", where)
    return file


def _malformed(problem: str, where: str) -> ImageError:
    return ImageError(problem, where=where, remedy="write the archive again with docker save or podman save")
