"""Pillow, and Pillow-SIMD where that is what PIL is."""

import io

import numpy as np
import PIL
from PIL import Image

from bench.input.peers import each, normalised
from bench.input.timing import Run
from bench.input.workload import SIZE, Cut, Workload

VERSIONS = {"Pillow-SIMD" if "post" in PIL.__version__ else "Pillow": PIL.__version__}


def contenders(work: Workload) -> dict[str, Run]:
    """Full decode and resize from the box; and `draft`, which decodes at a smaller scale."""
    (name,) = VERSIONS
    return each(work, {f"{name}, resize(box)": _resized, f"{name}, draft": _drafted})


def _finished(image: Image.Image, cut: Cut) -> object:
    if cut.flip:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return normalised(np.asarray(image))


def _resized(file: bytes, cut: Cut) -> object:
    box = (cut.left, cut.top, cut.left + cut.width, cut.top + cut.height)
    image = Image.open(io.BytesIO(file)).convert("RGB")
    return _finished(image.resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=box), cut)


def _drafted(file: bytes, cut: Cut) -> object:
    image = Image.open(io.BytesIO(file))
    width, height = image.size
    smaller = max(1, min(cut.width // SIZE, cut.height // SIZE))
    image.draft("RGB", (width // smaller, height // smaller))
    scale = image.size[0] / width
    right, bottom = (cut.left + cut.width) * scale, (cut.top + cut.height) * scale
    box = (cut.left * scale, cut.top * scale, min(right, image.size[0]), min(bottom, image.size[1]))
    small = image.convert("RGB").resize((SIZE, SIZE), Image.Resampling.BILINEAR, box=box, reducing_gap=2.0)
    return _finished(small, cut)
