"""Objects brought to this machine in the order in which they will be needed.

The order of samples is known in advance, so the order of shards is: threads download ahead as far as the cache has
room, and a shard may go when the stream has passed its last sample. Nobody waits silently.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainer.data import native
from trainer.data.cache import Busy, CacheConfig, Full, Held, ObjectCache, Part, Traffic
from trainer.data.remote import (
    CloudStorage,
    GivenUp,
    ObjectStore,
    Progress,
    RemoteError,
    RetryPolicy,
    StoredObject,
    fetch_object,
    patiently,
    remote_urls,
)
from trainer.data.visits import Visit

_POLL_SECONDS = 0.2  # other processes give room back without telling


@dataclass(frozen=True, kw_only=True)
class Telling:
    """When a wait of the stream for one shard is worth a line, in seconds; and where the line goes."""

    after: float = 5.0
    again: float = 60.0
    say: Callable[[str], None] = lambda line: print(line, file=sys.stderr, flush=True)


@dataclass
class _Shard:
    """A shard that the stream will need: on its way, or `held` on this machine."""

    progress: Progress
    ends: list[int] = field(default_factory=list)
    """Last position of each visit that needs it."""
    held: Held | None = None


class ReadAhead:
    """Keeps the files of `paths` coming as `visits` need them, in `config.parallel_downloads` threads.

    Visits are by first need, in positions of a stream that begins at `start`; nothing is brought for positions more
    than `farthest` ahead. Raises ConfigError where a path is not in Cloud Storage.
    """

    def __init__(
        self,
        paths: Sequence[str],
        visits: Iterator[Visit],
        config: CacheConfig,
        reader: native.Reader,
        *,
        start: int = 0,
        farthest: int,
        store: ObjectStore | None = None,
        retries: RetryPolicy | None = None,
        telling: Telling | None = None,
    ) -> None:
        self._retries, self._telling = retries or RetryPolicy(), telling or Telling()
        self._store = store or CloudStorage(self._retries)
        self._reader, self._urls = reader, remote_urls(paths)
        self._cache = ObjectCache(Path(config.folder), config.bytes)
        self._visits = visits
        self._position, self._farthest = start, farthest
        self._shards: dict[int, _Shard] = {}
        self._failed: dict[int, Exception] = {}
        self._tell_at: dict[int, float] = {}
        self._changed = threading.Condition()
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self._piece: int | None = None
        self._traffic = Traffic()
        self._threads = [
            threading.Thread(target=self._work, name="overnight-read-ahead", daemon=True)
            for _ in range(config.parallel_downloads)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def traffic(self) -> Traffic:
        """What was done until now."""
        with self._changed:
            return replace(self._traffic, evictions=self._cache.evictions)

    def path(self, file: int) -> Path:
        """Where a file is that has been fetched."""
        held = self._shards[file].held
        assert held is not None, "fetched before"
        return held.path

    def fetch(self, files: Sequence[int], *, wait: bool) -> bool:
        """Whether all `files` are here; with `wait`, they are on return. Raises RemoteError where one cannot be had."""
        begun = time.monotonic()
        with self._changed:
            while missing := [file for file in files if not self._is_here(file)]:
                if not wait:
                    return False
                for file in missing:
                    if file in self._failed:
                        raise self._failed[file]
                self._changed.wait(_POLL_SECONDS)
                self._tell(missing, time.monotonic() - begun)
            if wait:
                self._traffic.waited_seconds += time.monotonic() - begun
        return True

    def passed(self, position: int) -> None:
        """The stream has passed `position`: shards that were needed before only may go."""
        with self._changed:
            self._position = position
            for file, shard in list(self._shards.items()):
                shard.ends = [end for end in shard.ends if end >= position]
                if not shard.ends and shard.held is not None:
                    native.move(self._reader, file, "")  # an open file would keep its disk space
                    shard.held.release()
                    del self._shards[file]
            self._changed.notify_all()

    def piece(self, file: int, offset: int, size: int) -> str:
        """A path at which these bytes of a shard stand alone, until the next call. Raises RemoteError."""
        url = self._urls[file]
        self._forget_piece()
        self._piece = descriptor = os.memfd_create("overnight-sample", os.MFD_CLOEXEC)

        progress = Progress(url)

        def read() -> None:
            data = bytearray()
            self._store.read(self._store.describe(url), offset, offset + size, data.extend)
            progress.received += len(data)
            os.pwrite(descriptor, data, 0)

        patiently(read, url, progress, self._retries, self._closing)
        self._count(progress)
        return f"/proc/self/fd/{descriptor}"

    def close(self) -> None:
        """Stop downloading and let all files go; the cache keeps them."""
        self._closing.set()
        with self._changed:
            for shard in self._shards.values():
                if shard.held is not None:
                    shard.held.release()
            self._shards.clear()
            self._changed.notify_all()
        for thread in self._threads:
            thread.join(timeout=0.5)  # one that waits for a silent server ends by itself, and keeps nothing
        self._forget_piece()

    def _forget_piece(self) -> None:
        if self._piece is not None:
            os.close(self._piece)
            self._piece = None

    def _is_here(self, file: int) -> bool:
        shard = self._shards.get(file)
        return shard is not None and shard.held is not None

    def _tell(self, missing: Sequence[int], seconds: float) -> None:
        for file in missing:
            if seconds < self._tell_at.get(file, self._telling.after):
                continue
            self._tell_at[file] = seconds + self._telling.again
            shard = self._shards.get(file)
            what = str(shard.progress) if shard else f"{self._urls[file]}, no room in the cache"
            self._telling.say(f"trainer: waiting {seconds:.0f} s for {what}")

    def _work(self) -> None:
        try:
            while not self._closing.is_set() and self._bring_next():
                pass
        except GivenUp:
            pass

    def _bring_next(self) -> bool:
        """Bring one shard; False: there is none left. Bytes come in parallel.

        Room is taken in the stream's order, also while another process brings the shard: who took room for a later one
        could fill the cache with what it does not need yet, and wait for ever.
        """
        with self._turn:
            visit = next(self._visits, None)
            if visit is None:
                return False
            self._wait_until_near(visit)
            with self._changed:
                if (known := self._shards.get(visit.file)) is not None:
                    known.ends.append(visit.last)
                    return True
                shard = self._shards[visit.file] = _Shard(Progress(self._urls[visit.file]), [visit.last])
            try:
                found = patiently(
                    lambda: self._store.describe(shard.progress.url),
                    shard.progress.url,
                    shard.progress,
                    self._retries,
                    self._closing,
                )
                got = self._hold_or_begin(found, shard)
            except (RemoteError, OSError) as error:
                self._fail(visit.file, shard, error)
                return True
        self._complete(visit.file, found, shard, got)
        return True

    def _wait_until_near(self, visit: Visit) -> None:
        """An epoch ahead is far enough, however large the cache is."""
        with self._changed:
            while visit.first > self._position + self._farthest:
                self._pause()

    def _pause(self) -> None:
        self._changed.wait(_POLL_SECONDS)
        if self._closing.is_set():
            raise GivenUp

    def _hold_or_begin(self, found: StoredObject, shard: _Shard) -> Held:
        """The file, or room for it as a Part."""
        if found.size > self._cache.capacity:
            raise RemoteError(
                f"this object has {found.size / 1e6:.1f} MB and the cache may hold {self._cache.capacity / 1e6:.1f} MB",
                where=found.url,
                remedy="give the cache more bytes",
            )
        while True:
            shard.progress.state = "no room in the cache: other processes use it"
            try:
                if (got := self._cache.hold(found) or self._cache.begin(found)) is not None:
                    return got
            except Full:
                pass
            except Busy:
                shard.progress.state = "another process brings it"
            with self._changed:
                self._pause()

    def _complete(self, file: int, found: StoredObject, shard: _Shard, got: Held) -> None:
        try:
            held = self._download(found, shard, got) if isinstance(got, Part) else got
        except (RemoteError, OSError) as error:
            self._fail(file, shard, error)
            return
        self._count(shard.progress)
        with self._changed:
            self._traffic.misses += isinstance(got, Part)
            self._traffic.hits += not isinstance(got, Part)
            if self._closing.is_set():
                held.release()
                return
            shard.held = held
            native.move(self._reader, file, held.path)
            self._failed.pop(file, None)
            self._changed.notify_all()

    def _download(self, found: StoredObject, shard: _Shard, part: Part) -> Held:
        try:
            fetch_object(self._store, found, part.write_at, shard.progress, self._retries, self._closing)
            return part.finish()
        except BaseException:
            part.abandon()
            raise

    def _count(self, progress: Progress) -> None:
        with self._changed:
            self._traffic.bytes_fetched += progress.received
            self._traffic.retries += progress.retries

    def _fail(self, file: int, shard: _Shard, error: Exception) -> None:
        self._count(shard.progress)
        with self._changed:
            self._failed[file] = error
            self._shards.pop(file, None)
            self._changed.notify_all()
