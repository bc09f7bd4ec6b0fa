"""Bytes at a place: a local path, or any URL that fsspec knows, such as gs://bucket/folder."""

import errno
import os
from pathlib import Path

import fsspec


def is_local(place: str) -> bool:
    """Whether `place` is a path of this machine."""
    return "://" not in place


def join(place: str, *parts: str) -> str:
    """`place` extended by `parts` with single slashes."""
    return "/".join([place.rstrip("/"), *parts])


def read_bytes(place: str) -> bytes:
    """All bytes at `place`; raises FileNotFoundError and other OSErrors."""
    if is_local(place):
        return Path(place).read_bytes()
    with fsspec.open(place, "rb") as file:
        return bytes(file.read())


def size_of(place: str) -> int | None:
    """Bytes at `place`; None when nothing is there."""
    filesystem, path = fsspec.core.url_to_fs(place)
    try:
        return int(filesystem.info(path)["size"])
    except FileNotFoundError:
        return None


def names_in(folder: str) -> list[str]:
    """Names directly inside `folder`, sorted; empty when there is no such folder."""
    filesystem, path = fsspec.core.url_to_fs(folder)
    try:
        entries = filesystem.ls(path, detail=False)
    except FileNotFoundError:
        return []
    return sorted(entry.rstrip("/").rsplit("/", 1)[-1] for entry in entries)


def write_bytes(place: str, data: bytes) -> None:
    """Write `data` to `place`, complete or not at all."""
    if is_local(place):
        target = Path(place)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{target.name}.tmp")
        temporary.write_bytes(data)
        temporary.replace(target)
        return
    # Object stores show an object only when its upload has ended.
    with fsspec.open(place, "wb") as file:
        file.write(data)


def move_in(local: Path, place: str) -> None:
    """Bring the finished file `local` to `place`, which becomes complete at once; `local` is gone afterwards."""
    if is_local(place):
        _make_durable(local)
        local.replace(place)
        return
    filesystem, path = fsspec.core.url_to_fs(place)
    filesystem.put_file(str(local), path)
    local.unlink()


def remove(folder: str) -> None:
    """Remove `folder` and all inside; nothing happens when it is not there."""
    filesystem, path = fsspec.core.url_to_fs(folder)
    if filesystem.exists(path):
        filesystem.rm(path, recursive=True)


def _make_durable(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems do not know fsync
            raise
    finally:
        os.close(descriptor)
