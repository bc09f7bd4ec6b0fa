"""What the native extension computes, in numpy and Pillow: slow, plain, and the measure that tests hold it to."""

import io

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from trainer import _native
from trainer.data.native import Normalisation

Floats = NDArray[np.float64]
SMALL_TARGET = 128
"""Pixels of a side; below, what the DCT makes smaller stays twice as large as the target, else 1.25 times."""
Box = tuple[float, float, float, float]
"""Left, top, right, bottom in pixels of the picture."""


def reference_sample(content: bytes, box: Box, size: int, *, flip: bool = False) -> Floats:
    """One sample, float64 [3, size, size] in 0 to 255: decode all of it, resize `box`, mirror if `flip`.

    Raises OSError as Pillow does for bytes it cannot decode.
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


def planar_sample(content: bytes, box: Box, size: int, *, flip: bool = False) -> Floats:
    """One sample as training makes it of an ordinary photograph, float64 [3, size, size]: each plane, at the scale that
    suffices, straight to the target's grid, and colour only there.

    Half-size chroma is not brought to full size first: a triangle as wide as both steps together does it in one.
    Raises OSError as Pillow does for bytes it cannot read, TypeError for another format than JPEG, ValueError where
    libjpeg cannot decode the planes.
    """
    with Image.open(io.BytesIO(content)) as image:
        if not isinstance(image, JpegImageFile):
            raise TypeError(f"a JPEG file is needed, not {image.format}")
        dimensions = image.size
        factors = [(1, 1)] if len(image.layer) == 1 else [(across, down) for _, across, down, _ in image.layer]
    most = (max(across for across, _ in factors), max(down for _, down in factors))
    planes = []
    for number, (across, down) in enumerate(factors):
        shares = (across / most[0], down / most[1])
        side = dct_side(min((box[2] - box[0]) * shares[0], (box[3] - box[1]) * shares[1]), size)
        plane = decode_plane(content, number, side)
        matrices = [
            plane_weights(box[axis], box[axis + 2], dimensions[axis], size, shares[axis], side) for axis in (0, 1)
        ]
        planes.append(matrices[1] @ plane @ matrices[0].T)
    sample = colours(np.stack(planes))
    return sample[:, :, ::-1] if flip else sample


def dct_side(shorter: float, size: int) -> int:
    """Samples a side that a block of 8 is decoded to: as few as leave the box's shorter side no shorter than `size`, or
    than twice a `size` that is small.

    `shorter` is that side in samples of the component at full size.
    """
    least = size * (2 if size < SMALL_TARGET else 1.25)
    return next((side for side in (1, 2, 4) if shorter * side / 8 >= least), 8)


def decode_plane(content: bytes, component: int, side: int) -> Floats:
    """One component's samples as coded, without upsampling, `side` for each block of 8; by libjpeg.

    libjpeg decodes half-size chroma no smaller than twice the scale of luma: one sample of such a block comes from the
    own decoder. Raises ValueError for a file that they cannot decode.
    """
    file = np.frombuffer(content, dtype=np.uint8)
    for eighths in (side, side // 2):
        planes, status = _native.reference_planes(file, eighths) if eighths else ([], "ok")
        if status != "ok":
            raise ValueError(f"libjpeg finds it {status}")
        if planes and planes[component][0] == side:
            return planes[component][1].astype(np.float64)
    own = _native.own_planes(file, side, "baseline")
    if own is None or own[1] != "ok":
        raise ValueError("not one of the own decoder's files")
    full = planes_at_full_size(file)[component].shape
    high, wide = (-(-length * side // 8) for length in full)
    return own[0][component][:high, :wide].astype(np.float64)


def planes_at_full_size(file: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """All components' samples as libjpeg decodes them, undisturbed by scaling. Raises ValueError as `decode_plane`."""
    planes, status = _native.reference_planes(file, 8)
    if status != "ok":
        raise ValueError(f"libjpeg finds it {status}")
    return [samples for _, samples in planes]


def plane_weights(begin: float, end: float, length: int, size: int, share: float, side: int) -> Floats:
    """The resize of one axis of a plane as a matrix: `begin`, `end` and `length` in pixels of the picture, of which the
    plane has `share` samples each at full size."""
    factor = share * side / 8
    scale = (end - begin) * factor / size
    support = np.sqrt(1 + scale**2) if share < 1 and side == 8 else max(scale, 1.0)
    return weights(begin * factor, end * factor, int(np.ceil(length * factor)), size, support)


def colours(planes: Floats) -> Floats:
    """YCbCr planes (or grey's one) as RGB, by JFIF's factors, cut off at 0 and 255."""
    if len(planes) == 1:
        return np.repeat(planes, 3, axis=0)
    luma, blue, red = planes[0], planes[1] - 128, planes[2] - 128
    mixed = [luma + 1.402 * red, luma - 0.344136286 * blue - 0.714136286 * red, luma + 1.772 * blue]
    clipped: Floats = np.clip(np.stack(mixed), 0, 255)
    return clipped


def weights(begin: float, end: float, length: int, size: int, support: float | None = None) -> Floats:
    """The resize of one axis as a matrix [size, length]; rows add up to 1.

    An antialiased triangle as Pillow's BILINEAR, its half width `support`; unless that is said, one output pixel, or
    one input pixel when enlarging. It may reach beyond [begin, end) but not beyond the axis.
    """
    scale = (end - begin) / size
    support = support or max(scale, 1.0)
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
