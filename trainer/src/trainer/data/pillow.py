"""Samples of files that the native decoders do not read, by Pillow: one at a time, counted, otherwise like all others.

Cut, resize, mirror, numbers and layout are the native code's. Damage is not mended: what is truncated or corrupt stays
a bad sample.
"""

import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trainer import _native
from trainer.data import native
from trainer.data.buffers import PixelFormat

FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF")
"""What is tried: the formats that the shard writer reads. Others run programs (EPS) or are no photographs."""
WORTH_A_WORD = 0.01
"""Share of samples from which on the way through Pillow costs enough to be said."""

_ORIENTATION = 0x0112  # EXIF tag
_DEEP = ("I", "F")  # 16 and 32 bits: Pillow would cut them off at 255
_LEFT = frozenset(native.STATUSES.index(name) for name in ("not-a-jpeg", "unsupported"))
_TOO_LARGE, _WRONG_SIZE, _OUT_OF_MEMORY = (
    native.STATUSES.index(name) for name in ("too-large", "wrong-size", "out-of-memory")
)


class TooLarge(Exception):
    """More pixels than are read."""


@dataclass(frozen=True)
class Decoded:
    """`pixels` uint8 [height, width, 3], RGB; `orientation` by EXIF, 1 to 8."""

    pixels: NDArray[np.uint8]
    orientation: int


def decode(content: bytes) -> Decoded:
    """The picture, of an animation the first: on white where it is transparent, as the shard writer lays it, and
    without regard to colour profiles.

    Raises TooLarge, and nearly any exception for bytes that Pillow cannot read or would not read faithfully.
    """
    with warnings.catch_warnings(action="ignore"):
        try:
            image = Image.open(io.BytesIO(content), formats=FORMATS)
        except Image.DecompressionBombError:
            raise TooLarge from None
        with image:
            if image.width * image.height > _native.MAX_PIXELS:
                raise TooLarge
            if image.mode.startswith(_DEEP):
                raise ValueError(f"{image.mode} is not 8 bits a sample")
            image.load()
            return Decoded(np.asarray(_coloured(image)), _orientation(image))


def _coloured(image: Image.Image) -> Image.Image:
    if image.has_transparency_data:
        with_alpha = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", with_alpha.size, "white"), with_alpha).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def orientation(source: Any) -> int:
    """EXIF orientation, 1 to 8, of a file by path or open file; 1 where it states none or states nonsense."""
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(source) as image:
            return _orientation(image)
    except Exception:  # Pillow raises many types on damaged files, which are the decoders' business
        return 1


def _orientation(image: Image.Image) -> int:
    try:
        value = image.getexif().get(_ORIENTATION, 1)
    except Exception:  # malformed EXIF; a picture without it is upright
        return 1
    return int(value) if isinstance(value, int) and 1 <= value <= 8 else 1


Cut = Callable[[NDArray[np.int32]], native.Cuts]
"""What to cut from a picture whose dimensions are int32 [1, 2] (width, height)."""


class SlowPath:
    """One loader's way through Pillow. `samples`: how many have gone it."""

    def __init__(self, pixels: PixelFormat) -> None:
        self._pixels = pixels
        self.samples = 0

    def takes(self, statuses: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The places in `statuses` of samples that may be tried."""
        return np.flatnonzero(np.isin(statuses, list(_LEFT)))

    def make(
        self, reader: native.Reader, places: native.Places, cut: Cut, known: Any, image: Any, status: int
    ) -> tuple[int, int]:
        """Fill `image` ([1, 3, s, s] or [1, s, s, 3]) with the one sample at `places`; its status after all, and the
        EXIF orientation, which is not applied.

        `known`: width and height that the picture should have; 0: not known. `status`, the native code's, stays where
        Pillow cannot read the file either.
        """
        try:
            found = decode(native.read(reader, places))
        except TooLarge:
            return _TOO_LARGE, 1
        except MemoryError:
            return _OUT_OF_MEMORY, 1
        except Exception:  # hostile bytes make Pillow raise nearly any type
            return status, 1
        height, width, _ = found.pixels.shape
        if known[0] != 0 and (known[0], known[1]) != (width, height):
            return _WRONG_SIZE, 1
        cuts = cut(np.array([[width, height]], dtype=np.int32))
        native.sample_of(found.pixels, cuts, image, self._pixels.channels_last, self._pixels.normalisation)
        self.samples += 1
        return 0, found.orientation


def word_of(slow: int, samples: int) -> str | None:
    """What to tell of `slow` among `samples` samples; None where they are too few to matter."""
    if slow <= WORTH_A_WORD * samples:
        return None
    return (
        f"trainer: {slow} of {samples} samples ({slow / samples:.1%}) were decoded by Pillow, which is slow: they are "
        "PNG, WebP or other files that are no ordinary JPEGs; shards made with `overnight import` and `overnight "
        "shards build` hold them as JPEGs"
    )
