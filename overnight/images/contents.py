"""What an image archive holds: its configuration, its layers and every file's metadata, read without unpacking it."""

import hashlib
import io
import struct
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal

from overnight.images.archive import ArchiveLayer, open_archive
from overnight.images.errors import ImageError

Kind = Literal["file", "folder", "link", "device"]

DESCRIPTION = "opt/app/image.json"
"""What each of our images says of itself; the layer that holds it is ours."""
WHITEOUT = ".wh."
OPAQUE = ".wh..wh..opq"
"""How a layer says that a path, or all that stood in a folder, is gone (OCI image-spec, layer.md)."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_LARGEST_DESCRIPTION = 64 << 10
_PIECE = 1 << 20


@dataclass(frozen=True)
class Entry:
    """One path of a layer."""

    path: str
    """Without a leading slash."""
    kind: Kind
    size: int
    """Bytes."""
    mode: int
    owner: int
    group: int
    mtime: int
    """Seconds since 1970."""
    pyc_flags: int | None = None
    """Of a compiled Python file, the word that says how it is held against its source (PEP 552); 0: by time."""


@dataclass(frozen=True)
class Layer:
    """One layer."""

    digest: str
    """sha256 of the uncompressed layer, the diff id that the configuration names."""
    size: int
    """Bytes, uncompressed."""
    entries: tuple[Entry, ...] = field(repr=False)
    removed: tuple[str, ...] = field(default=(), repr=False)
    """Paths of lower layers that this one takes away."""
    emptied: tuple[str, ...] = field(default=(), repr=False)
    """Folders of which nothing from lower layers is left."""
    description: bytes | None = field(default=None, repr=False)
    """image.json, in the layer that has it."""

    @property
    def files(self) -> int:
        """How many files."""
        return sum(entry.kind == "file" for entry in self.entries)

    def largest(self, depth: int = 3, count: int = 3) -> list[tuple[str, int]]:
        """The folders at `depth` that take most, and their bytes."""
        sums: dict[str, int] = {}
        for entry in self.entries:
            folder = "/".join(entry.path.split("/")[:-1][:depth])
            sums[folder] = sums.get(folder, 0) + entry.size
        return sorted(sums.items(), key=lambda item: (-item[1], item[0]))[:count]


@dataclass(frozen=True)
class Contents:
    """A whole image."""

    config: Mapping[str, Any] = field(repr=False)
    """The OCI image configuration."""
    layers: tuple[Layer, ...]

    @property
    def size(self) -> int:
        """Bytes of all layers, uncompressed."""
        return sum(layer.size for layer in self.layers)

    @property
    def own(self) -> int | None:
        """The first layer of ours: the one that describes the image; None when none does."""
        return next((place for place, layer in enumerate(self.layers) if layer.description is not None), None)

    def run(self, name: str) -> Any:
        """A field of the configuration's `config`: User, Env, Entrypoint, Labels."""
        config = self.config.get("config")
        return config.get(name) if isinstance(config, dict) else None

    def visible(self) -> dict[str, tuple[int, Entry]]:
        """Paths of the running container, each with the number of the layer that put it there."""
        found: dict[str, tuple[int, Entry]] = {}
        for place, layer in enumerate(self.layers):
            gone = (*(f"{path}/" for path in (*layer.removed, *layer.emptied)),)
            if gone or layer.removed:
                kept = (item for item in found.items() if item[0] not in layer.removed)
                found = {path: value for path, value in kept if not path.startswith(gone)}
            found.update({entry.path: (place, entry) for entry in layer.entries})
        return found


def read_contents(path: Path) -> Contents:
    """Read what `docker save`, `podman save` or an OCI archive wrote. Raises ImageError, OSError.

    Layers are read through once, and each is held against the digest that the configuration names.
    """
    try:
        with open_archive(path) as archive:
            layers = tuple(_layer(archive.open(layer), layer, path) for layer in archive.layers)
            return Contents(archive.config, layers)
    except (tarfile.TarError, EOFError, zlib.error, UnicodeError, struct.error, ValueError) as error:
        raise ImageError(
            f"it cannot be read to its end ({str(error) or type(error).__name__})",
            where=str(path),
            remedy="write it again with docker save or podman save",
        ) from None


class _Measured(io.RawIOBase):
    """A layer's bytes, uncompressed; counted and hashed as they pass."""

    def __init__(self, source: IO[bytes], where: Path) -> None:
        head = source.read(4)
        source.seek(0)
        if head == _ZSTD:
            raise ImageError("a layer is compressed with zstd", where=str(where), remedy="save it as a docker-archive")
        self._source = source
        self._inflate = zlib.decompressobj(wbits=31) if head.startswith(_GZIP) else None
        self._left = b""
        self.size = 0
        self.hash = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        """At most `size` bytes, so that a small file that inflates to a huge one takes no memory."""
        wanted = _PIECE if size < 0 else size
        piece = self._source.read(wanted) if self._inflate is None else self._inflated(wanted)
        self.size += len(piece)
        self.hash.update(piece)
        return piece

    def _inflated(self, wanted: int) -> bytes:
        assert self._inflate is not None
        while True:
            if self._inflate.eof:
                rest = self._inflate.unused_data or self._source.read(_PIECE)
                if not rest:
                    return b""
                self._inflate, self._left = zlib.decompressobj(wbits=31), rest
            data = self._left or self._source.read(_PIECE)
            if not data:
                raise EOFError("a compressed layer ends too early")
            piece = self._inflate.decompress(data, wanted)
            self._left = self._inflate.unconsumed_tail
            if piece:
                return piece


def _layer(source: IO[bytes], expected: ArchiveLayer, where: Path) -> Layer:
    measured = _Measured(source, where)
    entries: list[Entry] = []
    removed: list[str] = []
    emptied: list[str] = []
    description = None
    with tarfile.open(fileobj=measured, mode="r|") as tar:
        for member in tar:
            path = "/".join(part for part in member.name.split("/") if part not in ("", "."))
            folder, _, name = path.rpartition("/")
            if name == OPAQUE:
                emptied.append(folder)
            elif name.startswith(WHITEOUT):
                removed.append(f"{folder}/{name.removeprefix(WHITEOUT)}".lstrip("/"))
            elif path:
                head = _head(tar, member, path)
                entries.append(_entry(member, path, head))
                description = head if path == DESCRIPTION and member.isreg() else description
    for _ in iter(lambda: measured.read(_PIECE), b""):  # what follows the tar's end belongs to the digest
        pass
    digest = f"sha256:{measured.hash.hexdigest()}"
    if digest != expected.diff_id:
        raise ImageError(
            f"a layer has the digest {digest} where the configuration says {expected.diff_id}",
            where=str(where),
            remedy="the archive is damaged; write it again with docker save or podman save",
        )
    return Layer(digest, measured.size, tuple(entries), tuple(removed), tuple(emptied), description)


def _head(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> bytes | None:
    """The bytes that are looked at: of our description all, of a compiled Python file its first two words."""
    wanted = _LARGEST_DESCRIPTION if path == DESCRIPTION else 8 if path.endswith(".pyc") else 0
    if not wanted or not member.isreg():
        return None
    file = tar.extractfile(member)
    return file.read(wanted) if file else None


def _entry(member: tarfile.TarInfo, path: str, head: bytes | None) -> Entry:
    kind: Kind = "device"
    if member.isreg() or member.islnk():
        kind = "file"
    elif member.isdir():
        kind = "folder"
    elif member.issym():
        kind = "link"
    flags = None
    if path.endswith(".pyc") and head is not None:
        flags = struct.unpack_from("<I", head, 4)[0] if len(head) == 8 else 0
    size = member.size if member.isreg() else 0
    return Entry(path, kind, size, member.mode & 0o7777, member.uid, member.gid, int(member.mtime), flags)


def walk(contents: Contents, layers: range) -> Iterator[Entry]:
    """All entries of some layers, in order."""
    for place in layers:
        yield from contents.layers[place].entries
