"""Plain files through the very same preprocessing as evaluation: what prediction uses."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trainer.data import native
from trainer.data.buffers import PixelFormat
from trainer.data.crops import evaluation_boxes
from trainer.data.pillow import Cut, SlowPath, orientation


class LoadedImages(NamedTuple):
    """`images` float32 [n, 3, s, s], normalised; `statuses`: for each file "ok" or why its picture is all zeros;
    `slow_samples`: how many files Pillow has decoded, because the native decoders do not read them."""

    images: NDArray[np.float32]
    statuses: tuple[str, ...]
    slow_samples: int


def load_images(
    paths: Sequence[Path],
    *,
    size: int,
    resize_shorter_side: int,
    mean: tuple[float, float, float],
    std: tuple[float, float, float],
    threads: int = 2,
) -> LoadedImages:
    """Decode, resize, crop and normalise JPEG files, and what else Pillow reads, exactly as evaluation does.

    A picture's EXIF orientation is applied; malformed EXIF counts as upright. Raises ConfigError when `size` does not
    fit into `resize_shorter_side`.
    """
    normalisation = native.Normalisation(mean, std)

    def centre(dimensions: NDArray[np.int32]) -> native.Cuts:
        known = np.maximum(dimensions, 1)
        boxes = evaluation_boxes(known[:, 0], known[:, 1], size, resize_shorter_side)
        return native.Cuts(dimensions, boxes, np.zeros(len(dimensions), dtype=np.uint8))

    lengths = np.array([_length(path) for path in paths], dtype=np.int64)
    images = np.zeros((len(paths), 3, size, size), dtype=np.float32)
    reader, places = native.open_reader(paths), _whole_files(lengths)
    statuses = _decode(reader, places, centre, images, normalisation, threads)
    statuses[lengths < 0] = native.STATUSES.index("unreadable")
    turns = [orientation(path) if status == 0 else 1 for path, status in zip(paths, statuses, strict=True)]
    slow = SlowPath(PixelFormat(number="float32", normalisation=normalisation))
    for i in slow.takes(statuses):
        one = native.Places(places.file[i : i + 1], places.offset[i : i + 1], places.size[i : i + 1])
        statuses[i], turns[i] = slow.make(reader, one, centre, (0, 0), images[i : i + 1], int(statuses[i]))
    for i, turn in enumerate(turns):
        images[i] = upright(images[i], turn)
    return LoadedImages(images, tuple(native.STATUSES[status] for status in statuses), slow.samples)


def _whole_files(lengths: NDArray[np.int64]) -> native.Places:
    count = len(lengths)
    return native.Places(np.arange(count, dtype=np.int32), np.zeros(count, dtype=np.int64), np.maximum(lengths, 0))


def _decode(
    reader: native.Reader,
    places: native.Places,
    cut: Cut,
    images: NDArray[np.float32],
    normalisation: native.Normalisation,
    threads: int,
) -> NDArray[np.uint8]:
    """Fill `images` with what the native decoders read; the statuses."""
    statuses = np.zeros(len(images), dtype=np.uint8)
    pool = native.open_pool(threads)
    try:
        dimensions, unreadable = native.read_dimensions(pool, reader, places)
        cuts = cut(dimensions)
        native.wait(
            native.submit(pool, reader, places, cuts, images, statuses, exact=True, normalisation=normalisation)
        )
    finally:
        pool.close()
    return np.where(unreadable > 0, unreadable, statuses)


def _length(path: Path) -> int:
    """Bytes of the file; -1 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def upright(image: NDArray[np.float32], orientation: int) -> NDArray[np.float32]:
    """Turn a square [3, s, s] picture as its EXIF orientation asks.

    The centre crop of the shorter side is symmetric, so turning its result equals turning the whole picture first.
    """
    if orientation >= 5:  # rows and columns exchanged
        image = image.transpose(0, 2, 1)
    if orientation in (2, 3, 6, 7):
        image = image[:, :, ::-1]
    if orientation in (3, 4, 7, 8):
        image = image[:, ::-1, :]
    return image
