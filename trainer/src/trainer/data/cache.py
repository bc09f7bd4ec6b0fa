"""A folder of whole objects, bounded in bytes, shared by the processes of a machine, which may be killed at any time.

One file an object version. Who uses a file holds flock(LOCK_SH) on it, who downloads it LOCK_EX on its .part file; the
kernel takes both back when a process dies. So whatever nobody locks may go: the least recently used file first, and
leftovers of killed downloads. A short flock on `lock` orders whoever counts, makes room, holds or begins a download.
"""

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

from trainer.data.remote import StoredObject
from trainer.fields import require

_PART = ".part"
_FILE = ".tar"


@dataclass(frozen=True, kw_only=True)
class CacheConfig:
    """Reading shards and files ahead from Cloud Storage into a folder of this machine."""

    folder: str = ""
    """Where shards are kept; empty: no reading ahead, shards are read where they are. Best on a local SSD."""
    bytes: int = 100_000_000_000
    """Most bytes of shards in the folder. At least the shards that are read at a time, for each process that does not
    follow the same order, and one for evaluation."""
    parallel_downloads: int = 4
    """Shards downloaded at a time by each process."""

    def __post_init__(self) -> None:
        require(self.bytes >= 1, "data.cache.bytes", self.bytes, "give the bytes that the folder may hold")
        require(
            self.parallel_downloads >= 1, "data.cache.parallel_downloads", self.parallel_downloads, "give 1 or more"
        )


@dataclass
class Traffic:
    """What reading ahead did, of one process or of several together."""

    bytes_fetched: int = 0
    """Received from Cloud Storage by downloads that have ended, repeated ones too."""
    waited_seconds: float = 0.0
    """How long batches stood still for want of a shard."""
    retries: int = 0
    """Requests that were made once more."""
    hits: int = 0
    """Shards that were in the folder when their turn came, or that another process brought meanwhile."""
    misses: int = 0
    """Shards that had to be downloaded."""
    evictions: int = 0
    """Shards that this process removed to make room."""

    def __add__(self, other: "Traffic") -> "Traffic":
        return Traffic(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


class Held:
    """A file that stays as long as this is open."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor

    def release(self) -> None:
        """The file may go from now on."""
        os.close(self._descriptor)


class Part(Held):
    """A file that is being downloaded, by this process alone; the room for it is taken."""

    def __init__(self, cache: "ObjectCache", path: Path, final: Path, descriptor: int) -> None:
        super().__init__(path, descriptor)
        self._cache, self._final = cache, final

    def write_at(self, offset: int, data: bytes) -> None:
        """Raises OSError when the disk is full."""
        while data:
            done = os.pwrite(self._descriptor, data, offset)
            offset, data = offset + done, data[done:]

    def finish(self) -> Held:
        """All bytes are there and right: the file as others see it, held."""
        with self._cache.alone():  # or it could be removed between the two
            self.path.rename(self._final)
            fcntl.flock(self._descriptor, fcntl.LOCK_SH)
        return Held(self._final, self._descriptor)

    def abandon(self) -> None:
        """Give the room back."""
        self.path.unlink(missing_ok=True)
        self.release()


class Busy(Exception):
    """Another thread or process is downloading the object."""


class Full(Exception):
    """There is no room, and nothing that could go."""


class ObjectCache:
    """The folder. Every method is safe against other threads and processes that use it."""

    def __init__(self, folder: Path, capacity: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self.capacity = folder, capacity
        self.evictions = 0
        """Files that this object's methods have removed to make room."""

    def hold(self, found: StoredObject) -> Held | None:
        """The object's file, which is then the one used last; None where it is not here.

        Raises Full while all files together exceed this object's capacity, which may be less than that of others: what
        whoever shares the capacity holds never exceeds it, and the rest of the folder stays for the others.
        """
        path = self._folder / f"{_name(found)}{_FILE}"
        with self.alone():
            descriptor = _open_locked(path, os.O_RDONLY, fcntl.LOCK_SH)
            if descriptor is None:
                return None
            held = Held(path, descriptor)
            if not self._make_room(found.size, besides=path):
                held.release()
                raise Full
            os.utime(descriptor)
            return held

    def begin(self, found: StoredObject) -> Part | None:
        """Take room for an object, making it where needed; None while there is none. Raises Busy and OSError."""
        path = self._folder / f"{_name(found)}{_PART}"
        final = path.with_suffix(_FILE)
        with self.alone():
            descriptor = _open_locked(path, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if descriptor is None:
                raise Busy
            part = Part(self, path, final, descriptor)
            if final.exists():  # it has just become complete
                part.abandon()
                raise Busy
            try:
                has_room = self._make_room(found.size, besides=path)
                if has_room:
                    os.truncate(descriptor, 0)
                    os.truncate(descriptor, found.size)  # counts at once, before its bytes are there
            except BaseException:
                part.abandon()
                raise
            if not has_room:
                part.abandon()
                return None
        return part

    def used(self) -> int:
        """Bytes of all files, counted whole from the beginning of their download."""
        return sum(size for _, size, _ in self._files())

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """No other process or thread counts, makes room or begins meanwhile."""
        descriptor = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _files(self) -> list[tuple[int, int, Path]]:
        """(last use in ns, bytes, path) of every file, the least recently used first."""
        found = []
        for entry in os.scandir(self._folder):
            if entry.name.endswith((_PART, _FILE)):
                with contextlib.suppress(FileNotFoundError):
                    status = entry.stat()
                    found.append((status.st_mtime_ns, status.st_size, Path(entry.path)))
        return sorted(found)

    def _make_room(self, size: int, besides: Path) -> bool:
        if size > self.capacity:
            return False
        files = [(length, path) for _, length, path in self._files() if path != besides]
        excess = sum(length for length, _ in files) + size - self.capacity
        dead = [(length, path) for length, path in files if path.suffix == _PART]
        for length, path in dead + [file for file in files if file not in dead]:
            if excess <= 0 and path.suffix != _PART:
                break
            if _remove_unused(path):
                excess -= length
                self.evictions += path.suffix == _FILE
        return excess <= 0


def _name(found: StoredObject) -> str:
    return f"{hashlib.sha256(found.url.encode()).hexdigest()[:24]}-{found.generation}"


def _remove_unused(path: Path) -> bool:
    """Delete a file that nobody holds. Called with the folder locked."""
    descriptor = _open_locked(path, os.O_RDONLY, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if descriptor is None:
        return False
    try:
        path.unlink(missing_ok=True)
    finally:
        os.close(descriptor)
    return True


def _open_locked(path: Path, flags: int, operation: int) -> int | None:
    """A descriptor of `path` with the lock; None where there is no such file or the lock is another's.

    The file may be removed or renamed between the two calls: then it is tried again.
    """
    while True:
        try:
            descriptor = os.open(path, flags | os.O_CLOEXEC, 0o666)
        except FileNotFoundError:
            return None
        try:
            fcntl.flock(descriptor, operation)
            if _is_same(path, descriptor):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_same(path: Path, descriptor: int) -> bool:
    try:
        found = path.stat()
    except FileNotFoundError:
        return False
    own = os.fstat(descriptor)
    return (found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)
