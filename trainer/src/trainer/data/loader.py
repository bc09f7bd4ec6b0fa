"""Batches for training, filled ahead by native threads into a ring of buffers; evaluation's and files' beside it.

Nothing here forks, starts processes or uses shared memory, and the loader itself does not import torch.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trainer.data import native
from trainer.data.ahead import training_ahead
from trainer.data.buffers import Allocate, PixelFormat, Reuse, Ring, numpy_memory
from trainer.data.cache import CacheConfig, Traffic
from trainer.data.crops import CropConfig, random_boxes, random_flips
from trainer.data.evaluation import EvalBatch, EvalLoader
from trainer.data.files import LoadedImages, load_images
from trainer.data.order import Order, worker_slice
from trainer.data.pillow import SlowPath
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
Work = native.Ticket | native.Done


@dataclass(frozen=True, kw_only=True)
class TrainBatch:
    """One worker's part of one step.

    `images` uint8 [b, 3, s, s], RGB, or as the loader's PixelFormat says, is the loader's own memory: valid until the
    next batch is asked for. `samples` and `epochs` are the planned ones; where a bad sample was replaced, `class_ids`
    is the substitute's.
    """

    step: int
    images: Any
    class_ids: Ints
    samples: Ints
    epochs: Ints


@dataclass
class _Pending:
    """A batch that threads are filling. `start`: the stream position at which its step begins."""

    batch: TrainBatch
    start: int
    statuses: NDArray[np.uint8]
    ticket: Work


class TrainLoader:
    """Iterates over the TrainBatches of steps [start_step, stop_step), in order; once.

    Equal arguments give equal batches, whatever `threads` and `depth`; the union over the workers of a step does not
    depend on `world_size`. `size_at(step)` is the side of the pictures in pixels. Step s begins at stream position
    `origin` + s * `batch_size`; with no `stop_step` it never ends. Memory: `depth` batches, from `allocate`
    (`buffers.Ring` has the rules). `cache`: shards are in Cloud Storage and are read ahead into this folder.
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
        stop_step: int | None,
        policy: BadSamplePolicy,
        origin: int = 0,
        pixels: PixelFormat | None = None,
        allocate: Allocate = numpy_memory,
        reuse: Reuse = "next",
        cache: CacheConfig | None = None,
    ) -> None:
        worker_slice(start_step, batch_size, rank, world_size)
        if order.rows_count != len(rows):
            raise ConfigError(f"the order is of {order.rows_count} samples and there are {len(rows)}", where="order")
        self._rows, self._order, self._crop, self._seed = rows, order, crop, seed
        self._batch_size, self._rank, self._world_size = batch_size, rank, world_size
        self._size_at, self._origin = size_at, origin
        self._next_step, self._planned_step, self._stop_step = start_step, start_step, stop_step
        self._pixels = pixels or PixelFormat()
        self._log = BadSampleLog(rows, policy)
        self._slow = SlowPath(self._pixels)
        self._ring = Ring(depth, self._pixels.number, allocate, reuse)
        self._pending: deque[_Pending] = deque()
        self._pool = native.open_pool(threads)
        self._reader = native.open_reader(rows.paths)
        self._shards = None
        if cache is not None and cache.folder:
            self._shards = training_ahead(
                rows,
                order,
                cache,
                self._reader,
                start=self.position,
                stop=None if stop_step is None else self._start_of(stop_step),
                in_flight=(depth + 1) * batch_size,
            )

    @property
    def bad_samples(self) -> list[BadSample]:
        """The different bad samples met so far by this worker, in the order of the stream."""
        return list(self._log.found)

    @property
    def slow_samples(self) -> int:
        """How many samples Pillow has decoded for this worker, because the native decoders do not read such files."""
        return self._slow.samples

    @property
    def traffic(self) -> Traffic | None:
        """What reading ahead has done; None where shards are on this machine."""
        return self._shards.traffic if self._shards else None

    @property
    def position(self) -> int:
        """Where in the stream the next batch's step begins."""
        return self._start_of(self._next_step)

    def state_dict(self) -> dict[str, int]:
        """What a loader needs to go on after the last batch handed out: the next step and its stream position."""
        return {"step": self._next_step, "position": self.position}

    def __iter__(self) -> Iterator[TrainBatch]:
        return self

    def __next__(self) -> TrainBatch:
        self._ring.reclaim()
        self._fill_ahead()
        if not self._pending:
            raise StopIteration
        pending = self._pending[0]
        native.wait(pending.ticket)
        self._pending.popleft()
        if pending.statuses.any():
            self._decode_slowly(pending)
            self._replace_bad(pending)
        self._next_step = pending.batch.step + 1
        if self._shards is not None:
            self._shards.passed(self._pending[0].start if self._pending else self._start_of(self._planned_step))
        return replace(pending.batch, images=self._ring.lend(pending.batch.images))

    def _start_of(self, step: int) -> int:
        return self._origin + step * self._batch_size

    def _fill_ahead(self) -> None:
        while self._stop_step is None or self._planned_step < self._stop_step:
            step, start = self._planned_step, self._start_of(self._planned_step)
            offset, count = worker_slice(0, self._batch_size, self._rank, self._world_size)
            epochs, samples = self._order.at(start + offset, count)
            if not self._have_shards(samples):
                return
            images = self._ring.take(self._pixels.shape(count, self._size_at(step)), must=not self._pending)
            if images is None:
                return
            statuses = np.empty(count, dtype=np.uint8)
            cuts = self._cuts(epochs, samples)
            ticket = self._start(self._reader, self._rows.places(samples), cuts, images, statuses)
            classes = self._rows.class_ids[samples]
            batch = TrainBatch(step=step, images=images, class_ids=classes, samples=samples, epochs=epochs)
            self._pending.append(_Pending(batch, start, statuses, ticket))
            self._planned_step += 1

    def _have_shards(self, samples: Ints) -> bool:
        """Whether the samples can be read now. Waits for them only where nothing else is left to hand out."""
        if self._shards is None:
            return True
        return self._shards.fetch(np.unique(self._rows.shard[samples]).tolist(), wait=not self._pending)

    def _cuts(self, epochs: Ints, samples: Ints, size: NDArray[np.int32] | None = None) -> native.Cuts:
        """`size` (width, height), where it is known better than by the rows."""
        if size is None:
            size = np.stack([self._rows.width[samples], self._rows.height[samples]], axis=1)
        known = np.maximum(size, 1)  # 0: no header could be read, and the decoder will say why
        return native.Cuts(
            size,
            random_boxes(self._crop, self._seed, epochs, samples, known[:, 0], known[:, 1]),
            random_flips(self._crop, self._seed, epochs, samples),
        )

    def _start(
        self,
        reader: native.Reader,
        places: native.Places,
        cuts: native.Cuts,
        images: Any,
        statuses: NDArray[np.uint8],
    ) -> Work:
        return native.submit(
            self._pool,
            reader,
            places,
            cuts,
            images,
            statuses,
            exact=False,
            channels_last=self._pixels.channels_last,
            normalisation=self._pixels.normalisation,
        )

    def _decode_slowly(self, pending: _Pending) -> None:
        batch = pending.batch
        for i in self._slow.takes(pending.statuses):
            epoch, sample, image = int(batch.epochs[i]), int(batch.samples[i]), batch.images[i : i + 1]
            places, status = self._rows.places(batch.samples[i : i + 1]), int(pending.statuses[i])
            pending.statuses[i] = self._by_pillow(self._reader, places, epoch, sample, image, status)

    def _by_pillow(
        self, reader: native.Reader, places: native.Places, epoch: int, sample: int, image: Any, status: int
    ) -> int:
        def cut(size: NDArray[np.int32]) -> native.Cuts:
            return self._cuts(np.array([epoch]), np.array([sample]), size)

        known = (self._rows.width[sample], self._rows.height[sample])
        return self._slow.make(reader, places, cut, known, image, status)[0]

    def _replace_bad(self, pending: _Pending) -> None:
        """Put substitutes where samples were bad, in stream order, so that every thread count reports alike."""
        batch = pending.batch
        for i in np.flatnonzero(pending.statuses):
            epoch, sample = int(batch.epochs[i]), int(batch.samples[i])
            self._log.add(sample, native.STATUSES[pending.statuses[i]])
            used = self._decode_substitute(epoch, sample, batch.images[i : i + 1])
            batch.class_ids[i] = self._rows.class_ids[used]

    def _decode_substitute(self, epoch: int, sample: int, image: Any) -> int:
        statuses = np.empty(1, dtype=np.uint8)
        for attempt in range(MAX_ATTEMPTS):
            used = substitute(self._seed, epoch, sample, attempt, len(self._rows))
            reader, places = self._alone(used)
            cuts = self._cuts(np.array([epoch]), np.array([used]))
            native.wait(self._start(reader, places, cuts, image, statuses))
            if self._slow.takes(statuses).size:
                statuses[0] = self._by_pillow(reader, places, epoch, used, image, int(statuses[0]))
            if statuses[0] == 0:
                return used
            self._log.add(used, native.STATUSES[statuses[0]])
        raise BadSampleError(
            f"{MAX_ATTEMPTS} substitutes for sample {self._rows.keys[sample].as_py()} were bad too",
            where=self._rows.paths[int(self._rows.shard[sample])],
            remedy="check the shard set",
        )

    def _alone(self, sample: int) -> tuple[native.Reader, native.Places]:
        """Where any sample's bytes are: of a shard that is elsewhere they alone are fetched."""
        samples, rows = np.array([sample]), self._rows
        if self._shards is None:
            return self._reader, rows.places(samples)
        path = self._shards.piece(int(rows.shard[sample]), int(rows.offset[sample]), int(rows.size[sample]))
        places = native.Places(np.zeros(1, dtype=np.int32), np.zeros(1, dtype=np.int64), rows.size[samples])
        return native.open_reader([path]), places

    def close(self) -> None:
        """Stop the threads; batches handed out stay valid as long as they are referred to."""
        self._stop_step = self._planned_step
        self._pool.close()
        self._pending.clear()
        if self._shards is not None:
            self._shards.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
