"""Batches for training, filled ahead by native threads into a ring of buffers; evaluation's and files' beside it.

Nothing here forks, starts processes or uses shared memory, and the loader itself does not import torch.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from trainer.data import native
from trainer.data.crops import CropConfig, random_boxes, random_flips
from trainer.data.evaluation import EvalBatch, EvalLoader
from trainer.data.files import LoadedImages, load_images
from trainer.data.order import Order, worker_slice
from trainer.data.samples import MAX_ATTEMPTS, BadSample, BadSampleLog, BadSamplePolicy, substitute
from trainer.data.snapshot import Rows
from trainer.errors import BadSampleError, ConfigError

__all__ = [
    "BadSample",
    "BadSamplePolicy",
    "EvalBatch",
    "EvalLoader",
    "LoadedImages",
    "TrainBatch",
    "TrainLoader",
    "load_images",
]

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TrainBatch:
    """One worker's part of one step.

    `images` uint8 [b, 3, s, s], RGB, is the loader's own memory: valid until the next batch is asked for. `samples`
    and `epochs` are the planned ones; where a bad sample was replaced, `class_ids` is the substitute's.
    """

    step: int
    images: NDArray[np.uint8]
    class_ids: Ints
    samples: Ints
    epochs: Ints


@dataclass
class _Pending:
    """A batch that threads are filling."""

    batch: TrainBatch
    statuses: NDArray[np.uint8]
    ticket: native.Ticket
    buffer: NDArray[np.uint8]


class TrainLoader:
    """Iterates over the TrainBatches of steps [start_step, stop_step), in order; once.

    Equal arguments give equal batches, whatever `threads` and `depth`; the union over the workers of a step does not
    depend on `world_size`. `size_at(step)` is the side of the pictures in pixels. Memory: `depth` batches.
    Raises ConfigError where the arguments do not fit together, BadSampleError as `policy` says.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        order: Order,
        batch_size: int,
        rank: int,
        world_size: int,
        size_at: Callable[[int], int],
        crop: CropConfig,
        seed: int,
        threads: int,
        depth: int = 3,
        start_step: int,
        stop_step: int,
        policy: BadSamplePolicy,
    ) -> None:
        worker_slice(start_step, batch_size, rank, world_size)
        if order.rows_count != len(rows):
            raise ConfigError(f"the order is of {order.rows_count} samples and there are {len(rows)}", where="order")
        if depth < 2:
            raise ConfigError("two batches or more are needed: one in use, one being filled", where="depth")
        self._rows, self._order, self._crop, self._seed = rows, order, crop, seed
        self._batch_size, self._rank, self._world_size = batch_size, rank, world_size
        self._size_at = size_at
        self._next_step, self._planned_step, self._stop_step = start_step, start_step, stop_step
        self._log = BadSampleLog(rows, policy)
        self._pool = native.open_pool(threads)
        self._reader = native.open_reader(rows.paths)
        self._free: deque[NDArray[np.uint8]] = deque(np.empty(0, dtype=np.uint8) for _ in range(depth))
        self._pending: deque[_Pending] = deque()
        self._lent: NDArray[np.uint8] | None = None

    @property
    def bad_samples(self) -> list[BadSample]:
        """The different bad samples met so far by this worker, in the order of the stream."""
        return list(self._log.found)

    def state_dict(self) -> dict[str, int]:
        """What a loader needs to go on after the last batch handed out: the next step and its stream position."""
        return {"step": self._next_step, "position": self._next_step * self._batch_size}

    def __iter__(self) -> Iterator[TrainBatch]:
        return self

    def __next__(self) -> TrainBatch:
        if self._lent is not None:
            self._free.append(self._lent)
            self._lent = None
        self._fill_ahead()
        if not self._pending:
            raise StopIteration
        pending = self._pending[0]
        native.wait(pending.ticket)
        self._pending.popleft()
        self._lent = pending.buffer
        if pending.statuses.any():
            self._replace_bad(pending)
        self._next_step = pending.batch.step + 1
        return pending.batch

    def _fill_ahead(self) -> None:
        while self._free and self._planned_step < self._stop_step:
            self._pending.append(self._start(self._planned_step, self._free.popleft()))
            self._planned_step += 1

    def _start(self, step: int, buffer: NDArray[np.uint8]) -> _Pending:
        start, count = worker_slice(step, self._batch_size, self._rank, self._world_size)
        epochs, samples = self._order.at(start, count)
        side = self._size_at(step)
        if buffer.size < count * 3 * side * side:
            buffer = np.empty(count * 3 * side * side, dtype=np.uint8)
        images = buffer[: count * 3 * side * side].reshape(count, 3, side, side)
        statuses = np.empty(count, dtype=np.uint8)
        ticket = self._submit(epochs, samples, images, statuses)
        batch = TrainBatch(
            step=step, images=images, class_ids=self._rows.class_ids[samples], samples=samples, epochs=epochs
        )
        return _Pending(batch, statuses, ticket, buffer)

    def _submit(
        self, epochs: Ints, samples: Ints, images: NDArray[np.uint8], statuses: NDArray[np.uint8]
    ) -> native.Ticket:
        rows = self._rows
        width, height = rows.width[samples], rows.height[samples]
        cuts = native.Cuts(
            np.stack([width, height], axis=1),
            random_boxes(self._crop, self._seed, epochs, samples, width, height),
            random_flips(self._crop, self._seed, epochs, samples),
        )
        return native.submit(self._pool, self._reader, rows.places(samples), cuts, images, statuses, exact=False)

    def _replace_bad(self, pending: _Pending) -> None:
        """Put substitutes where samples were bad, in stream order, so that every thread count reports alike."""
        batch = pending.batch
        for i in np.flatnonzero(pending.statuses):
            epoch, sample = int(batch.epochs[i]), int(batch.samples[i])
            self._log.add(sample, native.STATUSES[pending.statuses[i]])
            used = self._decode_substitute(epoch, sample, batch.images[i : i + 1])
            batch.class_ids[i] = self._rows.class_ids[used]

    def _decode_substitute(self, epoch: int, sample: int, image: NDArray[np.uint8]) -> int:
        statuses = np.empty(1, dtype=np.uint8)
        for attempt in range(MAX_ATTEMPTS):
            used = substitute(self._seed, epoch, sample, attempt, len(self._rows))
            native.wait(self._submit(np.array([epoch]), np.array([used]), image, statuses))
            if statuses[0] == 0:
                return used
            self._log.add(used, native.STATUSES[statuses[0]])
        raise BadSampleError(
            f"{MAX_ATTEMPTS} substitutes for sample {self._rows.keys[sample].as_py()} were bad too",
            where=self._rows.paths[int(self._rows.shard[sample])],
            remedy="check the shard set",
        )

    def close(self) -> None:
        """Stop the threads; batches handed out stay valid as long as they are referred to."""
        self._stop_step = self._planned_step
        self._pool.close()
        self._pending.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
