"""Files that are complete or absent, digests, canonical JSON."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trainer.errors import TrainerError


class FolderInUse(TrainerError):
    """Another run holds the output folder."""


def canonical_json(value: Any) -> bytes:
    """The one JSON text of `value`: keys sorted, two-space indent, UTF-8, newline at the end."""
    return (json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()


def sha256_bytes(data: bytes) -> str:
    """Lower-case hex SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """Lower-case hex SHA-256 of the file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_json(path: Path, format_name: str) -> dict[str, Any]:
    """Read a JSON object whose `format` must be `format_name`; raises TrainerError otherwise."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise TrainerError("this file is missing", where=str(path), remedy="check the path") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise TrainerError(f"this is not JSON ({error})", where=str(path)) from None
    found = value.get("format") if isinstance(value, dict) else None
    if found != format_name:
        raise TrainerError(f"format is {found!r} where {format_name!r} was expected", where=str(path))
    return dict(value)


def write_durably(path: Path, data: bytes | memoryview) -> None:
    """Write and fsync; the caller renames. Raises OSError."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def write_atomically(path: Path, data: bytes) -> None:
    """Write under a temporary name in the same folder, fsync, rename. Raises OSError with `path` as it was."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        write_durably(temporary, data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    fsync_folder(path.parent)


def fsync_folder(folder: Path) -> None:
    """Make renames inside `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def publishing(folder: Path) -> Iterator[Path]:
    """Yield a temporary sibling that takes the place of `folder` when the block ends well; removed when not."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        fsync_folder(temporary)
        if folder.exists():
            shutil.rmtree(folder)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    fsync_folder(folder.parent)


@contextlib.contextmanager
def holding(folder: Path, patience: float = 2.0) -> Iterator[None]:
    """Hold `folder` for this process; raises FolderInUse when another process keeps it.

    `patience` seconds let the kernel finish off the processes of a run that was just killed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + patience
    with (folder / ".trainer.lock").open("a+") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(0.05)
                    continue
                raise FolderInUse(
                    "another run is writing into this folder",
                    where=str(folder),
                    remedy="wait until it ends, or give another --output",
                ) from None
        yield
