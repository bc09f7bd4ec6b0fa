"""What every contender is given: the same files in memory, the same crops, in one numpy file.

Needs numpy alone, so that it works in any peer's environment.
"""

import functools
import io
import mmap
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

SIZE = 224
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True)
class Cut:
    """A box of whole pixels, and whether it is mirrored."""

    left: int
    top: int
    width: int
    height: int
    flip: bool


@dataclass(frozen=True)
class Workload:
    """n files, one after another in `data`; boxes float64[n, 4] are left, top, right, bottom; flips uint8[n]."""

    data: NDArray[np.uint8]
    size: NDArray[np.int64]
    boxes: NDArray[np.float64]
    flips: NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.size)

    @property
    def offset(self) -> NDArray[np.int64]:
        """Where each file begins."""
        return np.cumsum(self.size) - self.size

    @property
    def files(self) -> list[bytes]:
        """The files as peers take them."""
        content = self.data.tobytes()
        return [content[start : start + size] for start, size in zip(self.offset, self.size, strict=True)]

    @property
    def cuts(self) -> list[Cut]:
        """The boxes as peers take them."""
        edges = self.boxes.astype(int).tolist()
        return [
            Cut(left, top, right - left, bottom - top, bool(flip))
            for (left, top, right, bottom), flip in zip(edges, self.flips, strict=True)
        ]

    def with_files(self, files: list[bytes]) -> "Workload":
        """The same crops from other encodings of the same pictures."""
        return replace(
            self, data=np.frombuffer(b"".join(files), np.uint8), size=np.array([len(file) for file in files])
        )

    def save(self, path: Path) -> None:
        """Write it down for other processes."""
        np.savez(path, data=self.data, size=self.size, boxes=self.boxes, flips=self.flips)


def load(path: Path) -> Workload:
    """What `save` wrote."""
    with np.load(io.BytesIO(path.read_bytes())) as arrays:
        return Workload(arrays["data"], arrays["size"], arrays["boxes"], arrays["flips"])


def from_folder(folder: Path, count: int) -> Workload:
    """The first `count` pictures of a corpus, with random-resized crops of 0.08 to 1.0 of the area.

    Needs the trainer, whose crops they are.
    """
    from PIL import Image

    from trainer.data.crops import CropConfig, random_boxes, random_flips

    paths = sorted(folder.glob("*.jpg"))[:count]
    files = [path.read_bytes() for path in paths]
    sides = np.array([Image.open(path).size for path in paths], np.int32)
    samples, epochs = np.arange(len(files)), np.zeros(len(files), np.int64)
    return Workload(
        data=np.frombuffer(b"".join(files), np.uint8),
        size=np.array([len(file) for file in files]),
        boxes=random_boxes(CropConfig(), 11, epochs, samples, sides[:, 0], sides[:, 1]),
        flips=random_flips(CropConfig(), 11, epochs, samples),
    )


@functools.cache
def batch_memory(count: int, kind: type[np.generic]) -> NDArray[np.generic]:
    """Memory for `count` samples, NCHW, in large pages and written again and again, as the trainer's ring is.

    One and the same for all who ask for so much: who would keep samples must copy them.
    """
    values = count * 3 * SIZE * SIZE
    width = np.dtype(kind).itemsize
    pages = mmap.mmap(-1, values * width, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    pages.madvise(mmap.MADV_HUGEPAGE)
    made = np.frombuffer(pages, kind).reshape(count, 3, SIZE, SIZE)
    made[...] = 0
    return made
