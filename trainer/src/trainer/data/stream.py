"""Training batches for any framework: `InputStream`, over a snapshot's rows or a folder of WebDataset tars.

    with InputStream(open_tars(folder).rows, batch_size=256, size=224, epochs=16, threads=8) as stream:
        for batch in stream:
            step(batch.images, batch.class_ids)

numpy in, numpy out: neither torch nor another framework is imported. docs/input.md has torch, TensorFlow and JAX.
"""

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Self

from trainer.data.buffers import Allocate, PixelFormat, Reuse, Shape, numpy_memory
from trainer.data.cache import CacheConfig, Traffic
from trainer.data.crops import CropConfig
from trainer.data.loader import TrainBatch, TrainLoader
from trainer.data.order import Order, Sampling, worker_slice
from trainer.data.samples import BadSample, BadSamplePolicy
from trainer.data.snapshot import Rows
from trainer.errors import ConfigError


class InputStream:
    """An iterator over training batches that knows where it stands.

    `batch_size` counts the samples of all `world_size` workers; each gets its slice, and all get equally many batches.
    The stream ends after `epochs`, or never (None): epochs end inside batches, and the last batch is filled up from
    the epoch that would follow (`batch.epochs >= epochs` there), so that every batch has one shape. `for` goes on
    where the stream stands. Buffers: `trainer.data.buffers.Ring`. Raises ConfigError, and BadSampleError as `policy`
    says.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        batch_size: int,
        size: int,
        epochs: int | None = None,
        seed: int = 0,
        rank: int = 0,
        world_size: int = 1,
        threads: int = 2,
        depth: int = 3,
        pixels: PixelFormat | None = None,
        crop: CropConfig | None = None,
        sampling: Sampling = "uniform",
        shuffle_window_shards: int = 0,
        policy: BadSamplePolicy | None = None,
        allocate: Allocate = numpy_memory,
        reuse: Reuse = "next",
        cache: CacheConfig | None = None,
    ) -> None:
        worker_slice(0, batch_size, rank, world_size)
        if size < 1:
            raise ConfigError(f"pictures of {size} pixels cannot be", where="size", remedy="give 1 or more")
        if epochs is not None and epochs < 1:
            raise ConfigError(f"{epochs} epochs cannot be", where="epochs", remedy="give 1 or more, or None: no end")
        self._rows, self._batch_size, self._size, self._epochs, self._seed = rows, batch_size, size, epochs, seed
        self._rank, self._world_size, self._threads, self._depth = rank, world_size, threads, depth
        self.pixels, self.reuse, self._crop = pixels or PixelFormat(), reuse, crop or CropConfig()
        self._policy, self._allocate = policy or BadSamplePolicy(), allocate
        self._cache = cache
        self._order = Order(
            rows_count=len(rows),
            seed=seed,
            sampling=sampling,
            class_ids=rows.class_ids,
            shard=rows.shard,
            shuffle_window_shards=shuffle_window_shards,
        )
        self._loader = self._open(0)

    @property
    def shape(self) -> Shape:
        """Of every batch's images."""
        return self.pixels.shape(self._batch_size // self._world_size, self._size)

    @property
    def steps_left(self) -> int | None:
        """Batches until the end, the same for every worker; None: there is no end."""
        if self._epochs is None:
            return None
        return max(0, -(-(self._epochs * len(self._rows) - self._loader.position) // self._batch_size))

    @property
    def bad_samples(self) -> list[BadSample]:
        """The different bad samples met by this worker since the stream was opened or `load_state_dict`."""
        return self._loader.bad_samples

    @property
    def slow_samples(self) -> int:
        """How many samples Pillow has decoded for this worker in that time: PNG and the like."""
        return self._loader.slow_samples

    @property
    def traffic(self) -> Traffic | None:
        """What reading ahead has done in that time; None where shards are on this machine."""
        return self._loader.traffic

    def keys(self, batch: TrainBatch) -> list[str]:
        """The keys of a batch's planned samples."""
        return [self._rows.keys[int(sample)].as_py() for sample in batch.samples]

    def state_dict(self) -> dict[str, int]:
        """Where the stream stands, whatever its length: what follows the last batch handed out."""
        return {"position": self._loader.position, "seed": self._seed, "samples": len(self._rows)}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Go on from `state`; workers, threads and the batch size may be others than when it was taken.

        Batches handed out before lose their memory. Raises ConfigError where the stream is another one.
        """
        for name, own in (("seed", self._seed), ("samples", len(self._rows))):
            if state[name] != own:
                raise ConfigError(
                    f"the state is of a stream with {state[name]} and this one has {own}",
                    where=name,
                    remedy="open the stream with the arguments and the data that it began with",
                )
        self._loader.close()
        self._loader = self._open(state["position"])

    def _open(self, origin: int) -> TrainLoader:
        stop = None
        if self._epochs is not None:
            stop = max(0, -(-(self._epochs * len(self._rows) - origin) // self._batch_size))
        return TrainLoader(
            self._rows,
            order=self._order,
            batch_size=self._batch_size,
            rank=self._rank,
            world_size=self._world_size,
            size_at=lambda _: self._size,
            crop=self._crop,
            seed=self._seed,
            threads=self._threads,
            depth=self._depth,
            start_step=0,
            stop_step=stop,
            policy=self._policy,
            origin=origin,
            pixels=self.pixels,
            allocate=self._allocate,
            reuse=self.reuse,
            cache=self._cache,
        )

    def __iter__(self) -> Iterator[TrainBatch]:
        return self

    def __next__(self) -> TrainBatch:
        return next(self._loader)

    def close(self) -> None:
        """Stop the threads."""
        self._loader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
