"""Which sample comes when: a pure function of the seed, the epoch and the position.

A run is one endless stream of samples: one permutation an epoch, end to end. Step s takes positions
[s * B, (s + 1) * B) of it and worker r of W the r-th of W equal slices of those, so the stream does not depend on the
number of workers, nothing is dropped or padded, every worker has equally many steps, and the state to resume from is
one number.
"""

import hashlib
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from trainer.data.randomness import Purpose, words
from trainer.errors import ConfigError

Ints = NDArray[np.int64]
Sampling = Literal["uniform", "balanced"]

_CACHED_EPOCHS = 2  # a step may straddle the end of one


@dataclass(frozen=True, kw_only=True)
class Order:
    """The stream of one run.

    `class_ids` and `shard` are int[rows_count]. `sampling` "uniform" gives each sample once an epoch; "balanced" gives
    each class equally many of the epoch's `rows_count` draws. `shuffle_window_shards` 0 shuffles all samples together;
    W > 0 shuffles the shards and then the samples inside windows of W shards, so that storage is read shard by shard.
    Raises ConfigError where the fields do not fit together.
    """

    rows_count: int
    seed: int
    sampling: Sampling = "uniform"
    class_ids: NDArray[np.int64]
    shard: NDArray[np.int32]
    shuffle_window_shards: int = 0
    _epochs: dict[int, Ints] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.rows_count < 1:
            raise ConfigError("there are no samples to put in order", where="rows_count", remedy="choose another split")
        if len(self.class_ids) != self.rows_count or len(self.shard) != self.rows_count:
            raise ConfigError(f"class_ids and shard must hold {self.rows_count} elements", where="class_ids, shard")
        if self.sampling not in ("uniform", "balanced"):
            raise ConfigError(f"{self.sampling!r} is not known", where="sampling", remedy="give uniform or balanced")
        if self.shuffle_window_shards < 0:
            raise ConfigError("this must be 0 or more", where="shuffle_window_shards")
        if self.sampling == "balanced" and self.shuffle_window_shards:
            raise ConfigError(
                "balanced sampling draws from all shards at once",
                where="shuffle_window_shards",
                remedy="set it to 0, or use uniform sampling",
            )

    def at(self, start: int, count: int) -> tuple[Ints, Ints]:
        """Epochs and samples of stream positions [start, start + count), int64[count] each."""
        epochs = np.arange(start, start + count, dtype=np.int64) // self.rows_count
        samples = np.empty(count, dtype=np.int64)
        for epoch in range(start // self.rows_count, (start + count - 1) // self.rows_count + 1):
            first = max(start, epoch * self.rows_count)
            last = min(start + count, (epoch + 1) * self.rows_count)
            offset = first - epoch * self.rows_count
            samples[first - start : last - start] = self._cached(epoch)[offset : offset + last - first]
        return epochs, samples

    def _cached(self, epoch: int) -> Ints:
        if epoch not in self._epochs:
            while len(self._epochs) >= _CACHED_EPOCHS:
                del self._epochs[min(self._epochs, key=lambda known: (abs(known - epoch) == 1, known))]
            self._epochs[epoch] = self.epoch(epoch)
        return self._epochs[epoch]

    def epoch(self, epoch: int) -> Ints:
        """The samples of a whole epoch, int64[rows_count], made anew each time."""
        if self.sampling == "balanced":
            return balanced_draws(self.class_ids, self.seed, epoch)
        if self.shuffle_window_shards:
            return windowed_permutation(self.shard, self.seed, epoch, self.shuffle_window_shards)
        return permutation(self.rows_count, self.seed, epoch)


def permutation(count: int, seed: int, epoch: int) -> Ints:
    """All of range(count), int64[count], shuffled for the epoch."""
    return np.argsort(words(seed, Purpose.ORDER, epoch, np.arange(count)), kind="stable")


def windowed_permutation(shard: NDArray[np.int32], seed: int, epoch: int, window: int) -> Ints:
    """All samples, int64[len(shard)]: shards shuffled, then samples inside each `window` shards that follow another."""
    numbers, position = np.unique(shard, return_inverse=True)
    shard_order = np.argsort(words(seed, Purpose.SHARD_ORDER, epoch, numbers.astype(np.int64)), kind="stable")
    rank = np.empty(len(numbers), dtype=np.int64)
    rank[shard_order] = np.arange(len(numbers))
    keys = words(seed, Purpose.ORDER, epoch, np.arange(len(shard)))
    return np.lexsort((keys, rank[position] // window)).astype(np.int64, copy=False)


def balanced_draws(class_ids: NDArray[np.int64], seed: int, epoch: int) -> Ints:
    """As many draws as samples, int64[n], equally many from each class that has any.

    A class with fewer samples than draws goes round: each of its samples is drawn as often as any other, give or take
    one. Where the draws do not divide evenly, which classes get one more changes from epoch to epoch.
    """
    count = len(class_ids)
    by_class = np.argsort(class_ids, kind="stable")
    present, starts = np.unique(class_ids[by_class], return_index=True)
    members = np.split(by_class, starts[1:])
    lucky = np.argsort(words(seed, Purpose.CLASS_ORDER, epoch, present.astype(np.int64)), kind="stable")
    shares = np.full(len(present), count // len(present))
    shares[lucky[: count % len(present)]] += 1
    drawn = [_rounds(samples, int(share), seed, epoch) for samples, share in zip(members, shares, strict=True)]
    draws = np.concatenate(drawn)
    return draws[np.argsort(words(seed, Purpose.ORDER, epoch, np.arange(count)), kind="stable")]


def _rounds(samples: Ints, share: int, seed: int, epoch: int) -> Ints:
    """`share` draws from `samples`: whole shuffled rounds, then part of one."""
    rounds = -(-share // len(samples))
    keys = words(seed, Purpose.DRAW, epoch, np.arange(rounds)[:, None], samples[None, :])
    return samples[np.argsort(keys, axis=1, kind="stable")].reshape(-1)[:share]


def worker_slice(step: int, batch_size: int, rank: int, world_size: int) -> tuple[int, int]:
    """(start, count) of the stream positions that worker `rank` takes in a step of the global `batch_size`.

    Raises ConfigError unless the workers divide the batch.
    """
    if not 0 <= rank < world_size:
        raise ConfigError(f"worker {rank} of {world_size} does not exist", where="rank")
    if batch_size < 1 or batch_size % world_size:
        raise ConfigError(
            f"a batch of {batch_size} cannot be shared by {world_size} workers",
            where="batch_size",
            remedy="give a multiple of the number of workers",
        )
    count = batch_size // world_size
    return step * batch_size + rank * count, count


def digest(epochs: Ints, samples: Ints) -> str:
    """Lower-case hex SHA-256 of a step's samples, equal for equal sequences on every machine."""
    pairs = np.stack([np.asarray(epochs), np.asarray(samples)]).astype("<i8")
    return hashlib.sha256(pairs.tobytes()).hexdigest()
