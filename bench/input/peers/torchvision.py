"""torchvision: the classic recipe on Pillow's pictures, and v2 on tensors, whichever library decodes."""

import io
import os
from typing import Any

import simplejpeg
import torch
import torchvision
from PIL import Image
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import functional as classic
from torchvision.transforms.v2 import functional as v2

from bench.input import names
from bench.input.peers import One, each
from bench.input.timing import Run
from bench.input.workload import MEAN, SIZE, STD, Cut, Workload

VERSIONS = {
    "torch": torch.__version__,
    "torchvision": torchvision.__version__,
    "simplejpeg": simplejpeg.__version__,
}

torch.set_num_threads(1)


def contenders(work: Workload) -> dict[str, Run]:
    """All of them; PyTurboJPEG where it is installed."""
    makers: dict[str, One] = {
        "simplejpeg + torchvision v2": _simplejpeg,
        "torchvision v2, tensors": _tensors,
        names.CLASSIC[0]: _classic,
    }
    turbo = _turbo()
    if turbo is not None:
        makers["PyTurboJPEG + torchvision v2"] = turbo
    return each(work, makers)


def _finished(image: Any, cut: Cut) -> object:
    if cut.flip:
        image = v2.horizontal_flip(image)
    return v2.normalize(v2.to_dtype(image, torch.float32, scale=True), list(MEAN), list(STD), inplace=True)


def _tensors(file: bytes, cut: Cut) -> object:
    image = decode_jpeg(torch.frombuffer(bytearray(file), dtype=torch.uint8), mode=ImageReadMode.RGB)
    sides = [SIZE, SIZE]
    return _finished(v2.resized_crop(image, cut.top, cut.left, cut.height, cut.width, sides, antialias=True), cut)


def _cropped(pixels: Any, cut: Cut) -> object:
    crop = pixels[cut.top : cut.top + cut.height, cut.left : cut.left + cut.width]
    return _finished(v2.resize(torch.from_numpy(crop).permute(2, 0, 1), [SIZE, SIZE], antialias=True), cut)


def _simplejpeg(file: bytes, cut: Cut) -> object:
    return _cropped(simplejpeg.decode_jpeg(file), cut)


def _turbo() -> One | None:
    try:
        import turbojpeg
    except ImportError:
        return None
    try:
        decoder = turbojpeg.TurboJPEG(os.environ.get("TURBOJPEG"))
    except (RuntimeError, OSError):  # its libturbojpeg is not there
        return None
    VERSIONS["PyTurboJPEG"] = turbojpeg.__version__
    return lambda file, cut: _cropped(decoder.decode(file, pixel_format=turbojpeg.TJPF_RGB), cut)


def _classic(file: bytes, cut: Cut) -> object:
    image = Image.open(io.BytesIO(file)).convert("RGB")
    image = classic.resized_crop(image, cut.top, cut.left, cut.height, cut.width, [SIZE, SIZE])
    if cut.flip:
        image = classic.hflip(image)
    return classic.normalize(classic.to_tensor(image), list(MEAN), list(STD), inplace=True)
