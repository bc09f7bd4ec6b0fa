"""What is cut from each picture: random boxes for training, the centre for evaluation; all as arrays.

Boxes are float64[n, 4]: left, top, right, bottom in pixels of the stored picture, pixel i covering [i, i + 1).
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from trainer.data.randomness import Purpose, uniform
from trainer.errors import ConfigError

Boxes = NDArray[np.float64]

_ATTEMPTS = 10  # as torchvision's RandomResizedCrop


@dataclass(frozen=True, kw_only=True)
class CropConfig:
    """Random-resized crop: share of the area, aspect ratio (width / height), and whether half of them are mirrored."""

    scale_min: float = 0.08
    scale_max: float = 1.0
    ratio_min: float = 3 / 4
    ratio_max: float = 4 / 3
    flip: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.scale_min <= self.scale_max <= 1:
            raise ConfigError("0 < scale_min <= scale_max <= 1 must hold", where="scale_min, scale_max")
        if not 0 < self.ratio_min <= self.ratio_max:
            raise ConfigError("0 < ratio_min <= ratio_max must hold", where="ratio_min, ratio_max")


def random_boxes(
    config: CropConfig,
    seed: int,
    epochs: NDArray[np.int64],
    samples: NDArray[np.int64],
    widths: NDArray[np.int32],
    heights: NDArray[np.int32],
) -> Boxes:
    """Boxes of whole pixels, [n, 4], with torchvision's semantics: ten attempts, then the largest centred crop.

    A function of (seed, epoch, sample) and the picture's size alone.
    """
    epochs, samples = np.asarray(epochs)[:, None, None], np.asarray(samples)[:, None, None]
    width, height = widths.astype(np.float64)[:, None], heights.astype(np.float64)[:, None]
    attempt, which = np.arange(_ATTEMPTS, dtype=np.int64)[:, None], np.arange(4, dtype=np.int64)
    draws = np.moveaxis(uniform(seed, Purpose.CROP, epochs, samples, attempt, which), 2, 0)

    area = width * height * (config.scale_min + (config.scale_max - config.scale_min) * draws[0])
    low, high = math.log(config.ratio_min), math.log(config.ratio_max)
    aspect = np.exp(low + (high - low) * draws[1])
    w, h = np.rint(np.sqrt(area * aspect)), np.rint(np.sqrt(area / aspect))
    left, top = np.floor(draws[2] * (width - w + 1)), np.floor(draws[3] * (height - h + 1))
    fits = (w > 0) & (w <= width) & (h > 0) & (h <= height)
    boxes = np.stack([left, top, left + w, top + h], axis=-1)
    first = boxes[np.arange(len(boxes)), np.argmax(fits, axis=1)]
    fallback = _largest_centred(config, width[:, 0], height[:, 0])
    return np.where(np.any(fits, axis=1, keepdims=True), first, fallback)


def _largest_centred(config: CropConfig, width: NDArray[np.float64], height: NDArray[np.float64]) -> Boxes:
    """The largest centred box whose aspect ratio is allowed, in whole pixels."""
    w = np.minimum(width, np.maximum(np.rint(height * config.ratio_max), 1))
    h = np.minimum(height, np.maximum(np.rint(width / config.ratio_min), 1))
    left, top = np.floor((width - w) / 2), np.floor((height - h) / 2)
    return np.stack([left, top, left + w, top + h], axis=-1)


def random_flips(
    config: CropConfig, seed: int, epochs: NDArray[np.int64], samples: NDArray[np.int64]
) -> NDArray[np.uint8]:
    """1 where the sample is mirrored, uint8[n]; a function of (seed, epoch, sample)."""
    if not config.flip:
        return np.zeros(len(samples), dtype=np.uint8)
    return (uniform(seed, Purpose.FLIP, epochs, samples) < 0.5).astype(np.uint8)


def evaluation_boxes(
    widths: NDArray[np.int32], heights: NDArray[np.int32], size: int, resize_shorter_side: int
) -> Boxes:
    """The boxes, [n, 4], that "resize the shorter side, then cut `size` x `size` from the centre" comes down to.

    In the stored picture's pixels, so it is one resize without rounding between. Raises ConfigError when the crop
    would be larger than the resized picture.
    """
    if not 0 < size <= resize_shorter_side:
        raise ConfigError(
            f"a crop of {size} does not fit into a shorter side of {resize_shorter_side}",
            where="size, resize_shorter_side",
            remedy="make resize_shorter_side at least size",
        )
    width, height = widths.astype(np.float64), heights.astype(np.float64)
    side = np.minimum(width, height) * (size / resize_shorter_side)
    left, top = (width - side) / 2, (height - side) / 2
    return np.stack([left, top, left + side, top + side], axis=-1)
