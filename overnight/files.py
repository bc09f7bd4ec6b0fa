"""Files that are complete or absent: temporary name, fsync, rename; locks; digests; canonical JSON."""

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from overnight.errors import OvernightError


class FolderInUse(OvernightError):
    """Another Overnight process holds the folder."""


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


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` under a temporary name in the same folder, fsync, rename to `path`.

    Raises OSError (disk full, no permission) with `path` as it was before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
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
    """Yield a temporary sibling folder that becomes `folder` when the block ends well, and is removed when not.

    Raises FileExistsError when `folder` is there already: published folders are immutable.
    """
    if folder.exists():
        raise FileExistsError(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".tmp", dir=folder.parent))
    try:
        yield temporary
        temporary.chmod(0o755)
        temporary.rename(folder)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    fsync_folder(folder.parent)


@contextlib.contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """Hold `folder` for this process, for work called `what`; raises FolderInUse when another process has it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FolderInUse(
                f"another {what} is running in this folder",
                where=str(folder),
                remedy="wait until it ends, or use another folder",
            ) from None
        yield


def read_json(path: Path, format_name: str) -> dict[str, Any]:
    """Read a JSON object whose `format` field must be `format_name`; raises OvernightError otherwise."""
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise OvernightError("this file is missing", where=str(path)) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise OvernightError(f"this is not JSON ({error})", where=str(path)) from None
    found = value.get("format") if isinstance(value, dict) else None
    if found != format_name:
        raise OvernightError(
            f"format is {found!r} where {format_name!r} was expected",
            where=str(path),
            remedy="give the file that this command asks for, or update Overnight",
        )
    return dict(value)
