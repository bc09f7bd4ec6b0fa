"""The memory that batches lie in."""

import gc
from pathlib import Path

import numpy as np
import pytest

from trainer.data.buffers import Number, numpy_memory


def mapped_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * 4096


@pytest.mark.parametrize("shape", [(1, 3, 5, 7), (64, 3, 224, 224)], ids=["small", "large"])
@pytest.mark.parametrize("number", ["uint8", "float32", "float16", "bfloat16"])
def test_memory_begins_on_a_cache_line_and_can_be_written(shape: tuple[int, ...], number: Number) -> None:
    memory = numpy_memory(shape, number)
    assert memory.shape == shape
    assert memory.flags.c_contiguous
    assert memory.ctypes.data % 64 == 0
    memory[...] = 1
    assert memory.sum(dtype=np.float64) == np.prod(shape)


def test_large_memory_goes_when_nothing_refers_to_it() -> None:
    memory = numpy_memory((64, 3, 224, 224), "float32")
    part = memory[3:5]
    before = mapped_bytes()
    del memory
    gc.collect()
    assert mapped_bytes() == before
    part[...] = 2
    del part
    gc.collect()
    assert mapped_bytes() <= before - 64 * 3 * 224 * 224 * 4
