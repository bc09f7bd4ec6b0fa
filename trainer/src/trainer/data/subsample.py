"""A share of the training images, the same in every run: what tuning trials compare settings on.

No random state: a group's rank is a hash of its name. So the sample depends on neither the seed nor the workers, and a
smaller share is part of every larger one.
"""

import hashlib
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trainer.data.snapshot import Rows

SALT = "overnight.subsample"
_READ_AT_ONCE = 65_536


def subsample(rows: Rows, share: float) -> Rows:
    """The rows of `chosen`, key order; the very same rows where `share` is 1."""
    if share == 1:
        return rows
    return rows.take(np.flatnonzero(chosen(rows.class_ids, rows.group_ids, share)).astype(np.int64, copy=False))


def chosen(class_ids: NDArray[np.int64], group_ids: pa.LargeStringArray, share: float) -> NDArray[np.bool_]:
    """Which images a sample of `share` (0 to 1) holds, bool[n], given each one's class and group.

    Of the groups that have images of a class, those of the lowest hashes are chosen: share times their number, rounded
    up, so no class is lost. A group is chosen whole, also where only one of its classes chose it.
    """
    encoded = group_ids.dictionary_encode()
    ranks = _ranks(encoded.dictionary)
    image_ranks: NDArray[np.int64] = ranks[encoded.indices.to_numpy()]
    pairs = np.unique(class_ids * len(ranks) + image_ranks)  # by class, then by rank
    _, starts, counts = np.unique(pairs // len(ranks), return_index=True, return_counts=True)
    places = np.arange(len(pairs)) - np.repeat(starts, counts)
    exact = Fraction(str(share))  # the decimals as written: 0.07 of 100 are 7, and with floats they would be 8
    quotas = np.array([math.ceil(exact * int(count)) for count in counts], dtype=np.int64)
    is_chosen = np.zeros(len(ranks), dtype=np.bool_)
    is_chosen[pairs[places < np.repeat(quotas, counts)] % len(ranks)] = True
    return is_chosen[image_ranks]


def _ranks(groups: pa.LargeStringArray) -> NDArray[np.int64]:
    """Each group's place in the order of the hashes, int64[len(groups)]."""
    hashes = np.fromiter(map(_hash, _texts(groups)), dtype=np.uint64, count=len(groups))
    ranks = np.empty(len(groups), dtype=np.int64)
    ranks[np.argsort(hashes, kind="stable")] = np.arange(len(groups))
    return ranks


def _hash(group: str) -> int:
    """64 bits, made as those that decide the split (docs/formats.md), with a salt of their own."""
    return int.from_bytes(hashlib.sha256(f"{SALT}:{group}".encode()).digest()[:8], "big")


def _texts(array: pa.LargeStringArray) -> Iterator[str]:
    """The values one by one, without all of them being Python objects at once."""
    for start in range(0, len(array), _READ_AT_ONCE):
        yield from array.slice(start, _READ_AT_ONCE).to_pylist()
