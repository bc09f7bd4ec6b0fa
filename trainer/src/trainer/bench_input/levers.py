"""What other shards would gain: the same pictures with restart markers, or smaller; measured, not guessed."""

import io
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image

from trainer import _native
from trainer.bench_input.costs import Work, decoders, rotate, seconds_of, work_of
from trainer.data.crops import CropConfig

SHORTER_SIDE = 384
"""Small crops of a smaller picture are blurred; from this side on little is lost at sizes up to 224."""
_QUALITY = 90


@dataclass(frozen=True)
class Lever:
    """A change of the shards: how many times as fast, how many times the bytes, and on how many pictures it was
    tried."""

    name: str
    gain: float
    bytes: float
    images: int


def restart_markers(work: Work, seconds: float) -> Lever | None:
    """Lossless, a marker each row of units, as the shard writer puts them. None: no file could be rewritten."""
    made = [(i, _native.rewrite(file, 1)[0]) for i, file in enumerate(work.files)]
    chosen = [(i, content) for i, content in made if content is not None]
    if not chosen:
        return None
    return _compare("restart-markers", work.take([i for i, _ in chosen]), [content for _, content in chosen], seconds)


def shorter_side(work: Work, crop: CropConfig, seed: int, seconds: float) -> Lever | None:
    """Shorter side SHORTER_SIDE, quality 90, with restart markers. None: the pictures are not much larger."""
    made = []
    for i, file in enumerate(work.files):
        image = Image.open(io.BytesIO(file))
        if min(image.size) > 1.25 * SHORTER_SIDE:
            made.append((i, *_smaller(image)))
    if len(made) < len(work) / 2:
        return None
    before = work.take([i for i, *_ in made])
    sides = np.array([size for *_, size in made], np.int32)
    small = [content for _, content, _ in made]
    after = work_of(small, sides[:, 0], sides[:, 1], crop, work.size, seed)
    return _compare("shorter-side", before, small, seconds, after)


def _smaller(image: Image.Image) -> tuple[bytes, tuple[int, int]]:
    scale = SHORTER_SIDE / min(image.size)
    size = (round(image.width * scale), round(image.height * scale))
    buffer = io.BytesIO()
    small = image.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    small.save(buffer, "JPEG", quality=_QUALITY, subsampling="4:2:0", restart_marker_rows=1)
    return buffer.getvalue(), size


def _compare(name: str, before: Work, files: Sequence[bytes], seconds: float, after: Work | None = None) -> Lever:
    after = after or before.with_files(files)
    costs = rotate({"before": _as_trained(before), "after": _as_trained(after)}, seconds)
    sizes = [sum(map(len, work.files)) for work in (before, after)]
    return Lever(name, costs["before"] / costs["after"], sizes[1] / sizes[0], len(before))


def _as_trained(work: Work) -> Callable[[], float]:
    """Each file by the decoder that training takes for it."""
    own, left = decoders(work)
    runs = [seconds_of(work.take(some), part) for some, part in ((own, "sample"), (left, "libjpeg")) if some]
    return lambda: sum(run() for run in runs)


def median_shorter_side(width: Sequence[int], height: Sequence[int]) -> float:
    """Of pictures, pixels."""
    return statistics.median(min(sides) for sides in zip(width, height, strict=True))
