"""The manifest of a shard set as data: docs/formats.md, "Shard set"."""

from dataclasses import asdict, dataclass
from typing import Any

from overnight.files import canonical_json

FORMAT = "overnight.shards/1"


@dataclass(frozen=True)
class ShardFile:
    """One tar: its number, its path relative to the `shards/` folder, its digest, bytes and images."""

    shard: int
    path: str
    sha256: str
    size: int
    images: int


@dataclass(frozen=True)
class TableFile:
    """A Parquet file of the set, path relative to the `shards/` folder."""

    path: str
    sha256: str
    rows: int


@dataclass(frozen=True)
class Previous:
    """The set that this one was appended to, and the digest of its manifest.json."""

    name: str
    sha256: str


@dataclass(frozen=True)
class Settings:
    """What decides the stored bytes, besides the images themselves.

    Sets of before there were restart markers have no word of them.
    """

    max_shorter_side: int
    jpeg_quality: int
    max_pixels: int
    images_per_shard: int
    restart_markers: bool = False


@dataclass(frozen=True)
class Manifest:
    """manifest.json; `made_with` names the versions of the libraries that wrote the newest part."""

    name: str
    previous: Previous | None
    settings: Settings
    made_with: dict[str, str]
    shards: tuple[ShardFile, ...]
    index: TableFile
    quarantine: TableFile
    images: int
    bytes: int


def to_json(manifest: Manifest) -> bytes:
    """The canonical bytes of manifest.json; their SHA-256 is the shard set's digest."""
    return canonical_json({"format": FORMAT, **asdict(manifest)})


def from_json(value: dict[str, Any]) -> Manifest:
    """The manifest in a parsed manifest.json; raises KeyError or TypeError when a field is missing or unknown."""
    previous = value["previous"]
    return Manifest(
        name=value["name"],
        previous=Previous(**previous) if previous else None,
        settings=Settings(**value["settings"]),
        made_with=dict(value["made_with"]),
        shards=tuple(ShardFile(**shard) for shard in value["shards"]),
        index=TableFile(**value["index"]),
        quarantine=TableFile(**value["quarantine"]),
        images=value["images"],
        bytes=value["bytes"],
    )
