"""What the native extension computes, in numpy and Pillow: slow, plain, and the measure that tests hold it to."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trainer.data.native import Normalisation

Floats = NDArray[np.float64]


def reference_sample(
    content: bytes, box: tuple[float, float, float, float], size: int, *, flip: bool = False
) -> Floats:
    """One sample, float64 [3, size, size] in 0 to 255: decode all of it, resize `box`, mirror if `flip`.

    `box` is left, top, right, bottom in pixels. Raises OSError as Pillow does for bytes it cannot decode.
    """
    picture = decode(content)
    across = weights(box[0], box[2], picture.shape[1], size)
    down = weights(box[1], box[3], picture.shape[0], size)
    resized: Floats = np.einsum("oy,yxc,px->cop", down, picture, across, optimize=True)
    return resized[:, :, ::-1] if flip else resized


def decode(content: bytes) -> Floats:
    """All pixels, float64 [height, width, 3], 0 to 255, in RGB."""
    with Image.open(io.BytesIO(content)) as image:
        return np.asarray(image.convert("RGB"), dtype=np.float64)


def weights(begin: float, end: float, length: int, size: int) -> Floats:
    """The resize of one axis as a matrix [size, length]; rows add up to 1.

    An antialiased triangle as Pillow's BILINEAR: its half width is one output pixel, or one input pixel when enlarging.
    It may reach beyond [begin, end) but not beyond the axis.
    """
    scale = (end - begin) / size
    support = max(scale, 1.0)
    centres = begin + (np.arange(size) + 0.5) * scale
    first = np.clip((centres - support + 0.5).astype(int), 0, length - 1)
    last = np.clip((centres + support + 0.5).astype(int), first + 1, length)
    pixels = np.arange(length)
    shares = np.maximum(0.0, 1.0 - np.abs((pixels - centres[:, None] + 0.5) / support))
    shares = np.where((pixels >= first[:, None]) & (pixels < last[:, None]), shares, 0.0)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def as_bytes(sample: Floats) -> NDArray[np.uint8]:
    """The uint8 form of a sample: rounded half up."""
    return (sample + 0.5).astype(np.uint8)


def normalised(sample: Floats, normalisation: Normalisation) -> NDArray[np.float32]:
    """The float32 form of a sample [3, s, s]."""
    mean, std = (np.array(values)[:, None, None] for values in (normalisation.mean, normalisation.std))
    return np.asarray((sample / 255 - mean) / std, dtype=np.float32)
