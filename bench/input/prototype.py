"""An older prototype's shared library as a further contender: the C function pf_batch, from memory into memory."""

import ctypes
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.input.ours import Make
from bench.input.workload import SIZE, Workload, batch_memory

# Its mode bits: own decoder, and DCT scaling down to the target's size. Its format 3: float32 past the caches.
_MODE = 32 | 2
_FORMAT = 3


def contender(library: Path, work: Workload) -> Make:
    """A run of the prototype on all files."""
    function = ctypes.CDLL(str(library)).pf_batch
    function.restype = ctypes.c_double
    files = work.files
    count = len(files)
    boxes = work.boxes.copy()
    boxes[:, 2:] -= boxes[:, :2]
    flips, statuses = work.flips.astype(np.int32), np.zeros(count, np.int32)
    out = batch_memory(count, np.float32)
    arguments = (
        *(count, (ctypes.c_char_p * count)(*files), (ctypes.c_size_t * count)(*map(len, files))),
        *(_pointer(boxes), _pointer(flips), SIZE, _MODE, ctypes.c_double(1.0), _FORMAT, _pointer(out), 1),
        _pointer(statuses),
    )
    kept = (files, boxes, flips, statuses)

    def make() -> NDArray[np.generic]:
        function(*arguments)
        if (kept[-1] <= 0).any():  # else: the eighths that it decoded at
            raise RuntimeError(f"the prototype says {kept[-1].min()}")
        return out

    return make


def _pointer(array: NDArray[np.generic]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)
