"""OpenCV: full decode or at a smaller scale, resized by area; and simplejpeg's reduced decode before the same."""

import cv2
import numpy as np
import simplejpeg
from numpy.typing import NDArray

from bench.input.peers import each, normalised
from bench.input.timing import Run
from bench.input.workload import SIZE, Cut, Workload

VERSIONS = {"OpenCV": cv2.__version__}

cv2.setNumThreads(1)

_REDUCED = {
    1: cv2.IMREAD_COLOR_RGB,
    2: cv2.IMREAD_REDUCED_COLOR_2,
    4: cv2.IMREAD_REDUCED_COLOR_4,
    8: cv2.IMREAD_REDUCED_COLOR_8,
}


def contenders(work: Workload) -> dict[str, Run]:
    """INTER_AREA antialiases where the crop is larger than the target; where it is smaller, INTER_LINEAR does."""
    return each(
        work,
        {
            "OpenCV, INTER_AREA": _area,
            "OpenCV, IMREAD_REDUCED, INTER_AREA": _reduced,
            "simplejpeg min_height + OpenCV, INTER_AREA": _simplejpeg,
        },
    )


def _resized(pixels: NDArray[np.uint8], flip: bool) -> object:
    shrinks = min(pixels.shape[:2]) > SIZE
    small = cv2.resize(pixels, (SIZE, SIZE), interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
    return normalised(cv2.flip(small, 1) if flip else small)


def _area(file: bytes, cut: Cut) -> object:
    image = cv2.imdecode(np.frombuffer(file, np.uint8), cv2.IMREAD_COLOR_RGB)
    return _resized(image[cut.top : cut.top + cut.height, cut.left : cut.left + cut.width], cut.flip)


def _reduced(file: bytes, cut: Cut) -> object:
    by = next(by for by in (8, 4, 2, 1) if by == 1 or min(cut.width, cut.height) >= by * SIZE)
    image = cv2.imdecode(np.frombuffer(file, np.uint8), _REDUCED[by])
    if by > 1:  # there is no RGB variant
        image = cv2.cvtColor(image, cv2.COLOR_BGR2RGB)
    rows = slice(cut.top // by, (cut.top + cut.height) // by)
    return _resized(image[rows, cut.left // by : (cut.left + cut.width) // by], cut.flip)


def _simplejpeg(file: bytes, cut: Cut) -> object:
    height, width, *_ = simplejpeg.decode_jpeg_header(file)
    smaller = min(cut.width, cut.height) / SIZE
    if smaller <= 1:
        image, across, down = simplejpeg.decode_jpeg(file), 1.0, 1.0
    else:
        image = simplejpeg.decode_jpeg(file, min_height=int(height / smaller), min_width=int(width / smaller))
        across, down = image.shape[1] / width, image.shape[0] / height
    rows = slice(int(cut.top * down), int((cut.top + cut.height) * down))
    return _resized(image[rows, int(cut.left * across) : int((cut.left + cut.width) * across)], cut.flip)
