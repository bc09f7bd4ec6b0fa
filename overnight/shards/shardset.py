"""Read shard sets: which there are, what one holds, where its files stand."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from overnight.files import sha256_bytes
from overnight.shards import places
from overnight.shards.errors import ShardError
from overnight.shards.manifest import FORMAT, Manifest, from_json

LATEST = "latest"
_NAME = re.compile(r"\d{4,}")


@dataclass(frozen=True)
class ShardSet:
    """A complete shard set; `folder` is the `shards/` folder (a path or URL), `sha256` the set's digest."""

    folder: str
    manifest: Manifest
    sha256: str

    @property
    def name(self) -> str:
        """The set's number as a folder name, such as 0001."""
        return self.manifest.name

    @property
    def index_place(self) -> str:
        """Where index.parquet is."""
        return places.join(self.folder, self.manifest.index.path)

    @property
    def quarantine_place(self) -> str:
        """Where quarantine.parquet is."""
        return places.join(self.folder, self.manifest.quarantine.path)

    @property
    def index_path(self) -> Path:
        """`index_place` of a set on this machine."""
        return Path(self.index_place)

    @property
    def quarantine_path(self) -> Path:
        """`quarantine_place` of a set on this machine."""
        return Path(self.quarantine_place)

    @property
    def shard_places(self) -> dict[int, str]:
        """Where each tar is, by shard number."""
        return {shard.shard: places.join(self.folder, shard.path) for shard in self.manifest.shards}

    @property
    def shard_paths(self) -> dict[int, Path]:
        """`shard_places` of a set on this machine."""
        return {number: Path(place) for number, place in self.shard_places.items()}


def names(folder: Path | str) -> list[str]:
    """The complete sets in the `shards/` folder, oldest first."""
    base = str(folder)
    numbered = [name for name in places.names_in(base) if _NAME.fullmatch(name)]
    complete = [name for name in numbered if places.size_of(places.join(base, name, "manifest.json")) is not None]
    return sorted(complete, key=int)


def load(folder: Path | str, name: str = LATEST) -> ShardSet:
    """The set called `name` in the `shards/` folder, or the newest.

    Raises ShardError when there is none, or when its manifest cannot be read.
    """
    base = str(folder)
    known = names(base)
    if not known:
        raise ShardError("there is no shard set yet", where=base, remedy="make one with `overnight shards build`")
    if name != LATEST and name not in known:
        raise ShardError(
            f"there is no shard set {name!r}", where=base, remedy=f"give one of {', '.join(known[-5:])}, or `latest`"
        )
    place = places.join(base, known[-1] if name == LATEST else name, "manifest.json")
    return _parse(base, place, places.read_bytes(place))


def _parse(folder: str, place: str, data: bytes) -> ShardSet:
    try:
        value = json.loads(data)
        if value["format"] != FORMAT:
            raise ShardError(
                f"format is {value['format']!r} where {FORMAT!r} was expected", where=place, remedy="update Overnight"
            )
        manifest = from_json(value)
    except (ValueError, KeyError, TypeError) as error:
        raise ShardError(
            f"this is not a shard set's manifest ({type(error).__name__}: {error})",
            where=place,
            remedy="restore the file, or remove the set's folder and build it again",
        ) from None
    return ShardSet(folder=folder, manifest=manifest, sha256=sha256_bytes(data))
