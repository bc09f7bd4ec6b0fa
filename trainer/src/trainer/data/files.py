"""Plain JPEG files through the very same native preprocessing as evaluation: what prediction uses."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trainer.data import native
from trainer.data.crops import evaluation_boxes

_ORIENTATION = 0x0112  # EXIF tag


class LoadedImages(NamedTuple):
    """`images` float32 [n, 3, s, s], normalised; `statuses`: for each file "ok" or why its picture is all zeros."""

    images: NDArray[np.float32]
    statuses: tuple[str, ...]


def load_images(
    paths: Sequence[Path],
    *,
    size: int,
    resize_shorter_side: int,
    mean: tuple[float, float, float],
    std: tuple[float, float, float],
    threads: int = 2,
) -> LoadedImages:
    """Decode, resize, crop and normalise JPEG files exactly as evaluation does.

    A picture's EXIF orientation is applied; malformed EXIF counts as upright. Raises ConfigError when `size` does not
    fit into `resize_shorter_side`.
    """
    count = len(paths)
    lengths = np.array([_length(path) for path in paths], dtype=np.int64)
    places = native.Places(np.arange(count, dtype=np.int32), np.zeros(count, dtype=np.int64), np.maximum(lengths, 0))
    images = np.zeros((count, 3, size, size), dtype=np.float32)
    statuses = np.zeros(count, dtype=np.uint8)
    reader, pool = native.open_reader(paths), native.open_pool(threads)
    try:
        dimensions, unreadable = native.read_dimensions(pool, reader, places)
        known = np.maximum(dimensions, 1)
        cuts = native.Cuts(
            dimensions,
            evaluation_boxes(known[:, 0], known[:, 1], size, resize_shorter_side),
            np.zeros(count, dtype=np.uint8),
        )
        normalisation = native.Normalisation(mean, std)
        native.wait(
            native.submit(pool, reader, places, cuts, images, statuses, exact=True, normalisation=normalisation)
        )
    finally:
        pool.close()
    statuses = np.where(unreadable > 0, unreadable, statuses)
    statuses[lengths < 0] = native.STATUSES.index("unreadable")
    for i, path in enumerate(paths):
        if statuses[i] == 0:
            images[i] = upright(images[i], orientation(path))
    return LoadedImages(images, tuple(native.STATUSES[status] for status in statuses))


def _length(path: Path) -> int:
    """Bytes of the file; -1 where there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return -1


def orientation(path: Path) -> int:
    """EXIF orientation, 1 to 8; 1 where the file states none or states nonsense."""
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(path) as image:
            value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # Pillow raises many types on malformed EXIF, and a picture without it is upright
        return 1
    return int(value) if isinstance(value, int) and 1 <= value <= 8 else 1


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
