"""FFCV's compiled decode and resize, called as its own transforms call them."""

from importlib.metadata import version

import numpy as np
from ffcv.libffcv import imdecode, resize_crop

from bench.input.peers import each, normalised
from bench.input.timing import Run
from bench.input.workload import SIZE, Cut, Workload

VERSIONS = {"FFCV": version("ffcv")}


def contenders(work: Workload) -> dict[str, Run]:
    """INTER_AREA, as its RandomResizedCrop does; one picture's memory is used again and again."""
    memory = np.empty(3 * 4096 * 4096, np.uint8)
    small = np.empty((SIZE, SIZE, 3), np.uint8)
    sizes = {file: _size(file) for file in work.files}

    def made(file: bytes, cut: Cut) -> object:
        width, height = sizes[file]
        image = memory[: height * width * 3].reshape(height, width, 3)
        imdecode(np.frombuffer(file, np.uint8), image, height, width, height, width, 0, 0, 1, 1, False, False)
        resize_crop(image, cut.top, cut.top + cut.height, cut.left, cut.left + cut.width, small)
        return normalised(small[:, ::-1] if cut.flip else small)

    return each(work, {"FFCV imdecode + resize_crop": made})


def _size(file: bytes) -> tuple[int, int]:
    """Width and height, from the frame header (ITU T.81, B.2.2)."""
    at = 2
    while not (0xC0 <= file[at + 1] <= 0xCF and file[at + 1] not in (0xC4, 0xC8, 0xCC)):
        at += 2 + int.from_bytes(file[at + 2 : at + 4], "big")
    height, width = (int.from_bytes(file[at + skip : at + skip + 2], "big") for skip in (5, 7))
    return width, height
