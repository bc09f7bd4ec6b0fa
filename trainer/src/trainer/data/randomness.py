"""Random numbers as a pure function of what they are for: no state, so any sample's can be had at any time.

The generator is splitmix64 (Steele, Lea and Flood 2014) used as a hash: its finaliser is applied once for each part of
the counter. Integer arithmetic only, so every numpy version and machine gives the same numbers.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Purpose(IntEnum):
    """What a number decides; numbers for different purposes are independent."""

    ORDER = 1
    SHARD_ORDER = 2
    CLASS_ORDER = 3
    DRAW = 4
    CROP = 5
    FLIP = 6
    AUGMENT = 7
    SUBSTITUTE = 8


def _finalise(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def words(seed: int, purpose: Purpose, *counters: NDArray[np.int64] | int) -> Words:
    """64 random bits for each element of the counters, which broadcast together."""
    with np.errstate(over="ignore"):
        state = _finalise(np.asarray(seed % 2**64, dtype=np.uint64) + _GOLDEN)
        state = _finalise((state ^ np.uint64(purpose)) + _GOLDEN)
        for counter in counters:
            state = _finalise((state ^ np.asarray(counter, dtype=np.int64).astype(np.uint64)) + _GOLDEN)
    return state


def uniform(seed: int, purpose: Purpose, *counters: NDArray[np.int64] | int) -> NDArray[np.float64]:
    """Numbers in [0, 1) with 53 random bits, one for each element of the broadcast counters."""
    bits = words(seed, purpose, *counters) >> np.uint64(11)
    return bits.astype(np.float64) * 2.0**-53
