"""Where batches lie: memory that the caller allocates, filled in turn."""

import contextlib
import math
import mmap
import weakref
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from trainer.data.native import Normalisation
from trainer.errors import ConfigError

Number = Literal["uint8", "float32", "float16", "bfloat16"]
Shape = tuple[int, ...]
Allocate = Callable[[Shape, Number], Any]
"""Memory of a shape and number type: C-contiguous, of the host, visible by DLPack or the buffer protocol, and with
slices `x[i:j]` that share it. numpy arrays and torch tensors are such."""
Reuse = Literal["next", "unused"]

_LINE = 64  # bytes
_LARGE = 4 << 20
_NUMPY = {"uint8": np.uint8, "float32": np.float32, "float16": np.float16, "bfloat16": np.uint16}


@dataclass(frozen=True, kw_only=True)
class PixelFormat:
    """How pixels stand in memory: uint8 in 0 to 255, or (pixel / 255 - mean) / std in one of the other types."""

    number: Number = "uint8"
    channels_last: bool = False
    """[b, s, s, 3] in place of [b, 3, s, s]."""
    normalisation: Normalisation = field(default_factory=Normalisation)

    def __post_init__(self) -> None:
        if self.number not in _NUMPY:
            raise ConfigError(
                f"{self.number!r} is not known", where="number", remedy=f"give one of {', '.join(_NUMPY)}"
            )

    def shape(self, count: int, side: int) -> Shape:
        """Of `count` pictures of `side` x `side` pixels."""
        return (count, side, side, 3) if self.channels_last else (count, 3, side, side)


def numpy_memory(shape: Shape, number: Number) -> Any:
    """A numpy array that begins on a cache line: only such memory do TensorFlow and JAX take without a copy.

    bfloat16 is uint16 bits, which `ml_dtypes` has a type to view with.
    """
    kind = np.dtype(_NUMPY[number])
    length = math.prod(shape) * kind.itemsize
    memory = large_pages(length) if length >= _LARGE else np.empty(length + _LINE, dtype=np.uint8)
    start = -memory.ctypes.data % _LINE
    return memory[start : start + length].view(kind).reshape(shape)


def large_pages(length: int) -> NDArray[np.uint8]:
    """So many bytes, in pages of 2 MB where the system gives them to those who ask.

    A batch is written once from end to end: with pages of 4 kB the processor looks up an address every seven lines of
    a picture, and a float32 sample takes up to a fifth longer (docs/benchmarks.md).
    """
    pages = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel without them
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype=np.uint8)


class Ring:
    """`depth` buffers of one number type, allocated when first needed and used again.

    `reuse` says when a lent one comes back: "next", when the next batch is asked for; "unused", when nothing refers to
    it any more, which numpy's memory can tell. A library that keeps a batch without copying it is safe then.
    """

    def __init__(self, depth: int, number: Number, allocate: Allocate, reuse: Reuse) -> None:
        if reuse not in ("next", "unused"):
            raise ConfigError(f"{reuse!r} is not known", where="reuse", remedy="give next or unused")
        if depth < 2:
            raise ConfigError("two batches or more are needed: one in use, one being filled", where="depth")
        self._depth, self._number, self._allocate, self._reuse = depth, number, allocate, reuse
        self._free: deque[Any] = deque([None] * depth)
        self._lent: list[Any] = []

    def take(self, shape: Shape, *, must: bool) -> Any:
        """A buffer to fill; None when all are in use, unless one `must` be had."""
        if not self._free and not must:
            return None
        buffer = self._free.popleft() if self._free else None
        if buffer is None or tuple(buffer.shape) != shape:
            buffer = self._allocate(shape, self._number)
        return buffer

    def lend(self, buffer: Any) -> Any:
        """What the caller gets for a filled buffer."""
        if self._reuse == "next":
            self._lent.append(buffer)
            return buffer
        # numpy lets an array keep the memoryview, not the buffer behind it: whatever is made from `view` refers to it.
        view = np.asarray(memoryview(buffer))
        weakref.finalize(view, self._give_back, buffer).atexit = False
        return view

    def _give_back(self, buffer: Any) -> None:
        if len(self._free) < self._depth:
            self._free.append(buffer)

    def reclaim(self) -> None:
        """The next batch is asked for."""
        self._free.extend(self._lent)
        self._lent.clear()
