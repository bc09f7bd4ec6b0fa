"""Shards brought to this machine in the order in which the stream will need them.

The order of samples is known in advance, so the order of shards is: threads download ahead as far as the cache has
room, and a shard may go when the stream has passed its last sample. Nobody waits silently.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainer.data import native
from trainer.data.cache import Busy, CacheConfig, Held, ObjectCache, Part
from trainer.data.order import Order
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
    remote_url,
)
from trainer.data.snapshot import Rows
from trainer.data.visits import Visit, check_room, visits_from
from trainer.errors import ConfigError

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
    """Keeps the shards of stream positions [start, stop) coming, in `config.parallel_downloads` threads.

    `in_flight`: samples of the batches that are filled at a time. Raises ConfigError where the cache cannot hold what
    they need.
    """

    def __init__(
        self,
        rows: Rows,
        order: Order,
        config: CacheConfig,
        reader: native.Reader,
        *,
        start: int,
        stop: int | None,
        in_flight: int,
        store: ObjectStore | None = None,
        retries: RetryPolicy | None = None,
        telling: Telling | None = None,
    ) -> None:
        self._retries, self._telling = retries or RetryPolicy(), telling or Telling()
        self._store = store or CloudStorage(self._retries)
        self._reader, self._urls = reader, _urls(rows)
        check_room(rows, order, config.bytes, start, in_flight)
        self._cache = ObjectCache(Path(config.folder), config.bytes)
        self._visits = visits_from(order, start, stop)
        self._position, self._farthest = start, order.rows_count
        self._shards: dict[int, _Shard] = {}
        self._failed: dict[int, Exception] = {}
        self._tell_at: dict[int, float] = {}
        self._changed = threading.Condition()
        self._turn = threading.Lock()
        self._closing = threading.Event()
        self._piece: int | None = None
        self.waited_seconds = 0.0
        """How long the stream stood still for want of a shard."""
        self._threads = [
            threading.Thread(target=self._work, name="overnight-read-ahead", daemon=True)
            for _ in range(config.parallel_downloads)
        ]
        for thread in self._threads:
            thread.start()

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
            self.waited_seconds += time.monotonic() - begun
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

        def read() -> None:
            data = bytearray()
            self._store.read(self._store.describe(url), offset, offset + size, data.extend)
            os.pwrite(descriptor, data, 0)

        patiently(read, url, Progress(url), self._retries, self._closing)
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
        """Bring one shard; False: there is none left. Room is taken in the stream's order, bytes come in parallel."""
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
                got = self._hold_or_begin(found, shard, leave_when_busy=True)
            except (RemoteError, OSError) as error:
                self._fail(visit.file, error)
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

    def _hold_or_begin(self, found: StoredObject, shard: _Shard, *, leave_when_busy: bool) -> Held | None:
        """The file, or room for it as a Part; None: another process is bringing it."""
        while True:
            if (held := self._cache.hold(found)) is not None:
                return held
            try:
                if (part := self._cache.begin(found)) is not None:
                    return part
                shard.progress.state = "no room in the cache: other processes use it"
            except Busy:
                shard.progress.state = "another process brings it"
                if leave_when_busy:
                    return None
            with self._changed:
                self._pause()

    def _complete(self, file: int, found: StoredObject, shard: _Shard, got: Held | None) -> None:
        try:
            if got is None:
                got = self._hold_or_begin(found, shard, leave_when_busy=False)
            held = self._download(found, shard, got) if isinstance(got, Part) else got
        except (RemoteError, OSError) as error:
            self._fail(file, error)
            return
        assert held is not None, "whoever does not leave when busy comes back with the file"
        with self._changed:
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

    def _fail(self, file: int, error: Exception) -> None:
        with self._changed:
            self._failed[file] = error
            self._shards.pop(file, None)
            self._changed.notify_all()


def _urls(rows: Rows) -> list[str]:
    urls = [remote_url(path) for path in rows.paths]
    for path, url in zip(rows.paths, urls, strict=True):
        if url is None:
            raise ConfigError(
                "only shards of Cloud Storage are read ahead",
                where=path,
                remedy="leave data.cache.folder empty for shards that are on this machine",
            )
    return [url for url in urls if url is not None]
