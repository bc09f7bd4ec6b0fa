"""Batches for evaluation: row order, centre crop, exact decoding, normalised."""

import contextlib
import itertools
from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from trainer.data import native
from trainer.data.ahead import evaluation_ahead
from trainer.data.buffers import PixelFormat
from trainer.data.cache import CacheConfig, Traffic
from trainer.data.crops import evaluation_boxes
from trainer.data.order import worker_slice
from trainer.data.pillow import SlowPath
from trainer.data.readahead import ReadAhead
from trainer.data.samples import BadSample, BadSampleLog, BadSamplePolicy
from trainer.data.snapshot import Rows

Ints = NDArray[np.int64]


class EvalBatch(NamedTuple):
    """One worker's part of a batch: `images` float32 [b, 3, s, s], normalised, valid until the next batch is asked
    for; `class_ids` and `indices` (of the rows) int64 [b]."""

    images: NDArray[np.float32]
    class_ids: Ints
    indices: Ints


class _Part(NamedTuple):
    """Some rows of a batch that threads are filling."""

    indices: Ints
    images: NDArray[np.float32]
    statuses: NDArray[np.uint8]
    ticket: native.Ticket


class _Pending(NamedTuple):
    indices: Ints
    images: NDArray[np.float32]
    statuses: NDArray[np.uint8]
    parts: list[_Part]


class _Ahead:
    """The shards of one iteration, of which one is in use at a time: `file`, by the parts in `using`."""

    def __init__(self, shards: ReadAhead) -> None:
        self.shards = shards
        self.file = -1
        self.position = 0
        self.using: list[_Part] = []


class EvalLoader:
    """Iterates over EvalBatches in row order; may be iterated again.

    `cache`: shards are in Cloud Storage and are read ahead into this folder. Rows come shard by shard then, and the
    folder needs room for one shard.

    Worker r of W takes the r-th of W slices of each global batch, so over the workers each row comes exactly once and
    the pixels of a row do not depend on W. Workers may differ in their number of batches: count what was done, not
    steps. With the policy "raise" a sample that cannot be decoded raises BadSampleError; with "skip" its row is left
    out and noted in `bad_samples`, since a substitute would be counted twice.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        size: int,
        resize_shorter_side: int,
        mean: tuple[float, float, float],
        std: tuple[float, float, float],
        batch_size: int,
        rank: int,
        world_size: int,
        threads: int,
        policy: BadSamplePolicy | None = None,
        cache: CacheConfig | None = None,
    ) -> None:
        _, self._share = worker_slice(0, batch_size, rank, world_size)
        self._rows, self._size, self._shorter_side = rows, size, resize_shorter_side
        self._cache = cache if cache is not None and cache.folder else None
        order = np.arange(len(rows)) if self._cache is None else np.argsort(rows.shard, kind="stable")
        starts = range(rank * self._share, len(rows), batch_size)
        self._batches = [order[start : start + self._share] for start in starts]
        self._traffic = Traffic()
        # 0: no header could be read, and the decoder will say why.
        known = (np.maximum(rows.width, 1), np.maximum(rows.height, 1))
        self._boxes = evaluation_boxes(*known, size, resize_shorter_side)
        self._normalisation = native.Normalisation(mean, std)
        self._slow = SlowPath(PixelFormat(number="float32", normalisation=self._normalisation))
        self._log = BadSampleLog(rows, policy or BadSamplePolicy())
        self._pool = native.open_pool(threads)
        self._reader = native.open_reader(rows.paths)

    @property
    def bad_samples(self) -> list[BadSample]:
        """The rows left out so far by this worker."""
        return list(self._log.found)

    @property
    def slow_samples(self) -> int:
        """How many samples Pillow has decoded for this worker, because the native decoders do not read such files."""
        return self._slow.samples

    @property
    def traffic(self) -> Traffic | None:
        """What reading ahead has done in iterations that have ended; None where shards are on this machine."""
        return self._traffic if self._cache else None

    def __len__(self) -> int:
        """Batches of this worker."""
        return len(self._batches)

    def __iter__(self) -> Iterator[EvalBatch]:
        buffers = [np.empty((self._share, 3, self._size, self._size), dtype=np.float32) for _ in range(2)]
        before: _Pending | None = None
        with self._open_shards() as ahead:
            for number, indices in enumerate(self._batches):
                started = self._start(indices, buffers[number % 2], ahead)
                if before is not None:
                    yield self._finish(before)
                before = started
            if before is not None:
                yield self._finish(before)

    @contextlib.contextmanager
    def _open_shards(self) -> Iterator[_Ahead | None]:
        if self._cache is None or not self._batches:
            yield None
            return
        shards = evaluation_ahead(self._rows, np.concatenate(self._batches), self._cache, self._reader)
        try:
            yield _Ahead(shards)
        finally:
            shards.close()
            self._traffic += shards.traffic

    def _start(self, indices: Ints, buffer: NDArray[np.float32], ahead: _Ahead | None) -> _Pending:
        images, statuses = buffer[: len(indices)], np.empty(len(indices), dtype=np.uint8)
        pending = _Pending(indices, images, statuses, [])
        shard = self._rows.shard[indices]
        edges = [0] if ahead is None else np.flatnonzero(np.diff(shard, prepend=-1)).tolist()
        for begin, end in itertools.pairwise([*edges, len(indices)]):
            if ahead is not None:
                self._turn_to(int(shard[begin]), ahead)
            part = self._submit(indices[begin:end], images[begin:end], statuses[begin:end])
            pending.parts.append(part)
            if ahead is not None:
                ahead.using.append(part)
                ahead.position += end - begin
        return pending

    def _turn_to(self, file: int, ahead: _Ahead) -> None:
        """Have a shard. The one before goes first: who waits holds nothing, so nobody can wait for another forever."""
        if file == ahead.file:
            return
        for part in ahead.using:
            self._settle(part)
        ahead.using.clear()
        ahead.shards.passed(ahead.position)
        ahead.shards.fetch([file], wait=True)
        ahead.file = file

    def _submit(self, indices: Ints, images: NDArray[np.float32], statuses: NDArray[np.uint8]) -> _Part:
        rows = self._rows
        size = np.stack([rows.width[indices], rows.height[indices]], axis=1)
        cuts = native.Cuts(size, self._boxes[indices], np.zeros(len(indices), dtype=np.uint8))
        ticket = native.submit(
            self._pool,
            self._reader,
            rows.places(indices),
            cuts,
            images,
            statuses,
            exact=True,
            normalisation=self._normalisation,
        )
        return _Part(indices, images, statuses, ticket)

    def _finish(self, pending: _Pending) -> EvalBatch:
        for part in pending.parts:
            self._settle(part)
        for bad in np.flatnonzero(pending.statuses):
            self._log.add(int(pending.indices[bad]), native.STATUSES[pending.statuses[bad]])
        images, indices = pending.images, pending.indices
        if pending.statuses.any():
            good = pending.statuses == 0
            images, indices = images[good], indices[good]
        return EvalBatch(images, self._rows.class_ids[indices], indices)

    def _settle(self, part: _Part) -> None:
        """Wait for the threads, then decode what they left. The shard must be there still."""
        rows = self._rows
        native.wait(part.ticket)
        for i in self._slow.takes(part.statuses):
            index = part.indices[i : i + 1]
            known = (rows.width[index[0]], rows.height[index[0]])
            image = part.images[i : i + 1]
            part.statuses[i], _ = self._slow.make(
                self._reader, rows.places(index), self._centre, known, image, int(part.statuses[i])
            )

    def _centre(self, size: NDArray[np.int32]) -> native.Cuts:
        boxes = evaluation_boxes(size[:, 0], size[:, 1], self._size, self._shorter_side)
        return native.Cuts(size, boxes, np.zeros(len(size), dtype=np.uint8))

    def close(self) -> None:
        """Stop the threads."""
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
