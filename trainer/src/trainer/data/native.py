"""The native extension, typed: reads, decodes, crops, resizes and normalises pictures on its own threads."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trainer import _native
from trainer._native import Pool, Reader, Ticket
from trainer.errors import SnapshotError, TrainerError

__all__ = [
    "STATUSES",
    "Cuts",
    "Done",
    "Normalisation",
    "Places",
    "Pool",
    "Reader",
    "TarMembers",
    "Ticket",
    "move",
    "open_pool",
    "open_reader",
    "read",
    "read_dimensions",
    "sample_of",
    "scan_tar",
    "submit",
    "wait",
]

STATUSES: tuple[str, ...] = tuple(_native.STATUS_NAMES)
"""Name of each status number; 0 is "ok"."""


@dataclass(frozen=True)
class Places:
    """Where n pictures stand: file (number in the reader), offset and size in bytes."""

    file: NDArray[np.int32]
    offset: NDArray[np.int64]
    size: NDArray[np.int64]


@dataclass(frozen=True)
class Cuts:
    """What to cut from n pictures: dimensions int32[n, 2] (width, height; 0 = not known), boxes float64[n, 4] in
    pixels of the stored picture, flips uint8[n]."""

    dimensions: NDArray[np.int32]
    boxes: NDArray[np.float64]
    flips: NDArray[np.uint8]


@dataclass(frozen=True)
class Normalisation:
    """(sample / 255 - mean) / std, by channel; uint8 output is not normalised."""

    mean: tuple[float, float, float] = (0.0, 0.0, 0.0)
    std: tuple[float, float, float] = (1.0, 1.0, 1.0)


def open_reader(paths: Sequence[str | Path]) -> Reader:
    """A reader over files that need not exist yet: a missing one shows as "unreadable" when its turn comes."""
    return Reader([str(path) for path in paths])


def move(reader: Reader, file: int, path: str | Path) -> None:
    """From now on file number `file` stands at `path`; the one that was open under this number is closed."""
    reader.move(file, str(path))


def open_pool(threads: int) -> Pool:
    """A pool of `threads` threads. Raises TrainerError where that is no sensible number."""
    if not 1 <= threads <= 1024:
        raise TrainerError(f"{threads} threads cannot be", where="threads", remedy="give 1 to 1024")
    return Pool(threads)


def submit(
    pool: Pool,
    reader: Reader,
    places: Places,
    cuts: Cuts,
    out: Any,
    statuses: NDArray[np.uint8],
    *,
    exact: bool,
    planar: bool = True,
    channels_last: bool = False,
    normalisation: Normalisation | None = None,
) -> Ticket:
    """Start filling `out` ([n, 3, s, s], or [n, s, s, 3] with `channels_last`) and `statuses` ([n]).

    `out` is memory of the host that shows itself by DLPack or the buffer protocol, C-contiguous: uint8, float32,
    float16, bfloat16, or uint16 for the bits of bfloat16, which numpy lacks. Both belong to the threads until the
    ticket's `wait` returns. `exact` decodes at full size with float arithmetic; otherwise pictures much larger than
    needed are decoded at a smaller scale, in 16-bit arithmetic, and `planar` lets the own decoder take what it reads
    (docs/native.md). A sample whose status is not 0 is all zeros.
    Raises ValueError for arrays that do not fit together, TrainerError in a process forked after the pool was opened.
    """
    normalisation = normalisation or Normalisation()
    try:
        return pool.submit(
            reader,
            places.file,
            places.offset,
            places.size,
            cuts.dimensions,
            cuts.boxes,
            cuts.flips,
            out,
            statuses,
            exact=exact,
            planar=planar,
            channels_last=channels_last,
            mean=normalisation.mean,
            std=normalisation.std,
        )
    except _native.ForkError as error:
        raise TrainerError(str(error)) from None


def sample_of(
    pixels: NDArray[np.uint8], cuts: Cuts, out: Any, channels_last: bool, normalisation: Normalisation
) -> None:
    """Fill `out` as `submit` with `exact` does, with the one sample that `cuts` says of decoded RGB `pixels`
    [height, width, 3]. Raises ValueError where they do not fit together."""
    status = _native.sample_of(
        pixels,
        cuts.boxes,
        bool(cuts.flips[0]),
        out,
        channels_last=channels_last,
        mean=normalisation.mean,
        std=normalisation.std,
    )
    if status != "ok":
        raise ValueError(f"the sample is {status}")


def read(reader: Reader, places: Places) -> bytes:
    """The bytes of the one file at `places`. Raises SnapshotError where they cannot be read."""
    content, status = reader.read(int(places.file[0]), int(places.offset[0]), int(places.size[0]))
    if content is None:
        raise SnapshotError(f"a picture is {status}")
    return content


class Done:
    """The ticket of work that was done before it was asked for."""

    def wait(self) -> None:
        """Nothing to wait for."""


def wait(ticket: Ticket | Done) -> None:
    """Block until the ticket's work is done, letting Python's signal handlers run.

    Raises TrainerError in a process forked after the pool was opened.
    """
    try:
        ticket.wait()
    except _native.ForkError as error:
        raise TrainerError(str(error)) from None


def read_dimensions(pool: Pool, reader: Reader, places: Places) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Width and height of pictures as their headers say, int32[n, 2] (0 where bad), and statuses uint8[n]."""
    dimensions = np.zeros((len(places.file), 2), dtype=np.int32)
    statuses = np.zeros(len(places.file), dtype=np.uint8)
    wait(pool.read_headers(reader, places.file, places.offset, places.size, dimensions, statuses))
    return dimensions, statuses


@dataclass(frozen=True)
class TarMembers:
    """Regular files of a tar, in file order. `truncated`: the file ends inside a member or without its end marker;
    a member that is cut off is left out."""

    names: pa.LargeStringArray
    offset: NDArray[np.int64]
    size: NDArray[np.int64]
    truncated: bool

    def __len__(self) -> int:
        return len(self.offset)


def scan_tar(path: Path) -> TarMembers:
    """Where the members of a tar stand (USTAR, PAX, GNU), without reading them.

    Raises SnapshotError when the file cannot be read, is not a tar, or has a name that is not UTF-8.
    """
    try:
        names, ends, offset, size, truncated = _native.scan_tar(str(path))
    except RuntimeError as error:
        raise SnapshotError(str(error)) from None
    edges = np.concatenate([np.zeros(1, dtype=np.int64), ends])
    array = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(edges), pa.py_buffer(names))
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise SnapshotError("a member's name is not UTF-8", where=str(path)) from None
    return TarMembers(array, offset, size, truncated)
