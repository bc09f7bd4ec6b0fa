"""Batches for evaluation: row order, centre crop, exact decoding, normalised."""

from collections.abc import Iterator
from types import TracebackType
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from trainer.data import native
from trainer.data.buffers import PixelFormat
from trainer.data.crops import evaluation_boxes
from trainer.data.order import worker_slice
from trainer.data.pillow import SlowPath
from trainer.data.samples import BadSample, BadSampleLog, BadSamplePolicy
from trainer.data.snapshot import Rows

Ints = NDArray[np.int64]


class EvalBatch(NamedTuple):
    """One worker's part of a batch: `images` float32 [b, 3, s, s], normalised, valid until the next batch is asked
    for; `class_ids` and `indices` (of the rows) int64 [b]."""

    images: NDArray[np.float32]
    class_ids: Ints
    indices: Ints


class _Pending(NamedTuple):
    indices: Ints
    images: NDArray[np.float32]
    statuses: NDArray[np.uint8]
    ticket: native.Ticket


class EvalLoader:
    """Iterates over EvalBatches in row order; may be iterated again.

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
    ) -> None:
        _, self._share = worker_slice(0, batch_size, rank, world_size)
        self._rows, self._size, self._shorter_side = rows, size, resize_shorter_side
        starts = range(rank * self._share, len(rows), batch_size)
        self._slices = [slice(start, min(start + self._share, len(rows))) for start in starts]
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

    def __len__(self) -> int:
        """Batches of this worker."""
        return len(self._slices)

    def __iter__(self) -> Iterator[EvalBatch]:
        buffers = [np.empty((self._share, 3, self._size, self._size), dtype=np.float32) for _ in range(2)]
        ahead: _Pending | None = None
        for number, rows in enumerate(self._slices):
            started = self._start(np.arange(rows.start, rows.stop), buffers[number % 2])
            if ahead is not None:
                yield self._finish(ahead)
            ahead = started
        if ahead is not None:
            yield self._finish(ahead)

    def _start(self, indices: Ints, buffer: NDArray[np.float32]) -> _Pending:
        rows = self._rows
        images, statuses = buffer[: len(indices)], np.empty(len(indices), dtype=np.uint8)
        cuts = native.Cuts(
            np.stack([rows.width[indices], rows.height[indices]], axis=1),
            self._boxes[indices],
            np.zeros(len(indices), dtype=np.uint8),
        )
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
        return _Pending(indices, images, statuses, ticket)

    def _finish(self, pending: _Pending) -> EvalBatch:
        native.wait(pending.ticket)
        self._decode_slowly(pending)
        for bad in np.flatnonzero(pending.statuses):
            self._log.add(int(pending.indices[bad]), native.STATUSES[pending.statuses[bad]])
        images, indices = pending.images, pending.indices
        if pending.statuses.any():
            good = pending.statuses == 0
            images, indices = images[good], indices[good]
        return EvalBatch(images, self._rows.class_ids[indices], indices)

    def _decode_slowly(self, pending: _Pending) -> None:
        rows = self._rows
        for i in self._slow.takes(pending.statuses):
            index = pending.indices[i : i + 1]
            known = (rows.width[index[0]], rows.height[index[0]])
            image = pending.images[i : i + 1]
            pending.statuses[i], _ = self._slow.make(
                self._reader, rows.places(index), self._centre, known, image, int(pending.statuses[i])
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
