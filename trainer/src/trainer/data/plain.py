"""The loader without the native code: Pillow, sample by sample, in the process that trains, while it waits.

What the native loader is measured against (`data.loader = "reference"`, bench/input_exposed.py): the same order, boxes,
flips and policies. Pixels differ by rounding.
"""

import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from trainer.data import native
from trainer.data.loader import TrainLoader, Work


class PlainLoader(TrainLoader):
    """A TrainLoader of uint8 [b, 3, s, s] whose `threads` do nothing. What Pillow cannot read is `corrupt`."""

    def _start(
        self,
        reader: native.Reader,
        places: native.Places,
        cuts: native.Cuts,
        images: Any,
        statuses: NDArray[np.uint8],
    ) -> Work:
        for i, file in enumerate(places.file):
            with Path(self._rows.paths[file]).open("rb") as shard:
                shard.seek(int(places.offset[i]))
                content = shard.read(int(places.size[i]))
            try:
                images[i] = decoded(content, tuple(cuts.boxes[i]), images.shape[-1], flip=bool(cuts.flips[i]))
                statuses[i] = 0
            except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
                images[i] = 0
                statuses[i] = native.STATUSES.index("corrupt")
        return native.Done()


def decoded(content: bytes, box: tuple[float, float, float, float], side: int, *, flip: bool) -> NDArray[np.uint8]:
    """A JPEG's `box` (left, top, right, bottom), resized to uint8 [3, side, side] and mirrored where `flip`.

    Raises OSError and others of Pillow's where it cannot be read.
    """
    with Image.open(io.BytesIO(content)) as image:
        resized = image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR, box=box)
    if flip:
        resized = resized.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return np.asarray(resized, dtype=np.uint8).transpose(2, 0, 1)
