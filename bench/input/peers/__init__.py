"""The peers, a module for each library; they are imported in environments of their own.

Each offers `contenders(work)`: by name, a function without arguments that makes every sample of the workload and
returns nothing. The name ends with what differs from the task: "no antialias".
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bench.input.timing import Run
from bench.input.workload import MEAN, SIZE, STD, Cut, Workload

One = Callable[[bytes, Cut], object]

_SCALE = [np.float32(1 / (255 * std)) for std in STD]
_SHIFT = [np.float32(-mean / std) for mean, std in zip(MEAN, STD, strict=True)]


def each(work: Workload, makers: dict[str, One]) -> dict[str, Run]:
    """Runs that call a maker once for each file."""
    pairs = list(zip(work.files, work.cuts, strict=True))

    def run_of(make: One) -> Run:
        def run() -> None:
            for file, cut in pairs:
                make(file, cut)

        return run

    return {name: run_of(make) for name, make in makers.items()}


def normalised(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """uint8 [s, s, 3] to float32 [3, s, s]; channel by channel, which numpy does three times as fast."""
    out = np.empty((3, SIZE, SIZE), np.float32)
    for channel in range(3):
        np.multiply(pixels[:, :, channel], _SCALE[channel], out=out[channel], dtype=np.float32, casting="unsafe")
        out[channel] += _SHIFT[channel]
    return out
