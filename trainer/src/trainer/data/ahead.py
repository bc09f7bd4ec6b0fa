"""What to read ahead: a training's shards, an evaluation's, single files."""

import itertools
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trainer.data import native
from trainer.data.cache import CacheConfig
from trainer.data.order import Order
from trainer.data.readahead import ReadAhead
from trainer.data.remote import RemoteError, remote_url
from trainer.data.snapshot import Rows
from trainer.data.visits import Visit, check_room, visits_from

Ints = NDArray[np.int64]


def training_ahead(
    rows: Rows,
    order: Order,
    config: CacheConfig,
    reader: native.Reader,
    *,
    start: int,
    stop: int | None,
    in_flight: int,
    **others: Any,
) -> ReadAhead:
    """For stream positions [start, stop), an epoch ahead; `others` as ReadAhead's.

    `in_flight`: samples of the batches that are filled at a time. Raises ConfigError where the cache cannot hold what
    they need.
    """
    check_room(rows, order, config.bytes, start, in_flight)
    visits = visits_from(order, start, stop)
    return ReadAhead(rows.paths, visits, config, reader, start=start, farthest=order.rows_count, **others)


def beside_evaluation(config: CacheConfig, rows: Rows) -> CacheConfig:
    """What training may use of the cache, where an evaluation of `rows` comes in between.

    Training keeps its shards meanwhile, so without room of its own the evaluation would wait forever; room for one
    shard is enough. Raises OSError where a shard's file is not there.
    """
    if not config.folder:
        return config
    largest = max(Path(rows.paths[file]).stat().st_size for file in np.unique(rows.shard))
    return replace(config, bytes=max(1, config.bytes - largest))


def evaluation_ahead(rows: Rows, indices: Ints, config: CacheConfig, reader: native.Reader, **others: Any) -> ReadAhead:
    """For the rows at `indices` in that order, which visits each shard once: positions count them."""
    files, first = np.unique(rows.shard[indices], return_index=True)
    order = np.argsort(first)
    ends = np.append(first[order][1:], len(indices)) - 1
    visits = [Visit(int(files[i]), int(first[i]), int(end)) for i, end in zip(order, ends, strict=True)]
    return ReadAhead(rows.paths, iter(visits), config, reader, farthest=len(indices), **others)


def brought(paths: Sequence[Path], config: CacheConfig, **others: Any) -> Iterator[tuple[Path, str]]:
    """Where each file can be read on this machine until the next is asked for, and why it cannot.

    Those that are in Cloud Storage, by URL or below the mount, are read ahead; others stay where they are. A file that
    cannot be had is an answer, not an error: an empty file's path, and the sentence.
    """
    far = [str(path) for path in paths if remote_url(str(path))]
    visits = (Visit(i, i, i) for i in range(len(far)))
    ahead = ReadAhead(far, visits, config, native.open_reader(far), farthest=len(far), **others)
    numbers = itertools.count()
    try:
        for path in paths:
            if not remote_url(str(path)):
                yield path, ""
                continue
            number = next(numbers)
            ahead.passed(number)
            try:
                ahead.fetch([number], wait=True)
            except RemoteError as error:
                yield Path(os.devnull), error.sentence
            else:
                yield ahead.path(number), ""
    finally:
        ahead.close()
