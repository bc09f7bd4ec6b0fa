"""When the stream needs which shard: known in advance, because the order of samples is."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trainer.data.order import Order
from trainer.data.snapshot import Rows
from trainer.errors import ConfigError

Ints = NDArray[np.int64]


class Visit(NamedTuple):
    """The stream needs shard `file` (an index into `Rows.paths`) from position `first` to `last`."""

    file: int
    first: int
    last: int


def visits_from(order: Order, start: int, stop: int | None) -> Iterator[Visit]:
    """The visits of stream positions [start, stop), by first need; without end where `stop` is None."""
    epoch = start // order.rows_count
    while stop is None or epoch * order.rows_count < stop:
        yield from epoch_visits(order, epoch, start, stop)
        epoch += 1


def epoch_visits(order: Order, epoch: int, start: int, stop: int | None = None) -> list[Visit]:
    """The visits of an epoch's positions that are in [start, stop), by first need."""
    base = epoch * order.rows_count
    begin = max(start, base)
    end = base + order.rows_count if stop is None else min(stop, base + order.rows_count)
    files = order.shard[order.epoch(epoch)[begin - base : end - base]]
    present, first = np.unique(files, return_index=True)
    _, from_behind = np.unique(files[::-1], return_index=True)
    last = len(files) - 1 - from_behind
    return [Visit(int(present[i]), begin + int(first[i]), begin + int(last[i])) for i in np.argsort(first)]


def most_at_once(visits: Sequence[Visit], sizes: Ints, in_flight: int) -> int:
    """The most bytes that are needed at a time, when a shard is let go `in_flight` samples after its last one."""
    stays: dict[int, list[list[int]]] = {}
    for visit in sorted(visits, key=lambda visit: visit.first):
        known = stays.setdefault(visit.file, [])
        if known and visit.first <= known[-1][1]:  # it has not gone when it is needed again
            known[-1][1] = visit.last + in_flight
        else:
            known.append([visit.first, visit.last + in_flight])
    changes = [
        (at, int(sign * sizes[file]))
        for file, each in stays.items()
        for stay in each
        for at, sign in zip(stay, (-1, 1), strict=True)
    ]
    needed = most = 0
    for _, change in sorted(changes):  # at one position, what comes before what goes
        needed -= change
        most = max(most, needed)
    return most


def shard_bytes(rows: Rows) -> Ints:
    """How long each shard is at least, int64[shards]: to the end of its last sample in `rows`."""
    sizes = np.zeros(len(rows.paths), dtype=np.int64)
    np.maximum.at(sizes, rows.shard, rows.offset + rows.size)
    return sizes


def check_room(rows: Rows, order: Order, capacity: int, start: int, in_flight: int) -> None:
    """Raise ConfigError unless a cache of `capacity` bytes holds all shards that the stream needs at a time."""
    sizes = shard_bytes(rows)
    epoch = start // order.rows_count
    visits = [visit for each in (epoch, epoch + 1) for visit in epoch_visits(order, each, epoch * order.rows_count)]
    needed = most_at_once(visits, sizes, in_flight)
    if needed > capacity:
        window = order.shuffle_window_shards
        raise ConfigError(
            f"training may fill {capacity / 1e6:.1f} MB of the cache, and the shards that it reads at a time have "
            f"{needed / 1e6:.1f} MB",
            where="data.cache.bytes",
            remedy="raise it, or "
            + (
                "lower data.shuffle_window_shards" if window else "set data.shuffle_window_shards: all are read at once"
            ),
        )
