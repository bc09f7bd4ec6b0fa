"""torch without torchvision: the calls that torchvision makes, for where only torch is installed."""

import io

import numpy as np
import simplejpeg
import torch
from PIL import Image
from torch.nn import functional

from bench.input import names
from bench.input.peers import each
from bench.input.timing import Run
from bench.input.workload import MEAN, SIZE, STD, Cut, Workload

VERSIONS = {"torch": torch.__version__, "simplejpeg": simplejpeg.__version__}

torch.set_num_threads(1)

_MEAN = torch.tensor(MEAN).view(3, 1, 1)
_STD = torch.tensor(STD).view(3, 1, 1)


def contenders(work: Workload) -> dict[str, Run]:
    """Decoded by simplejpeg and resized as uint8; and the classic recipe step by step."""
    return each(work, {"simplejpeg + torch": sample_of, names.CLASSIC[1]: _classic})


def _normalised(image: torch.Tensor) -> torch.Tensor:
    return image.to(torch.float32).div_(255).sub_(_MEAN).div_(_STD)


def sample_of(file: bytes, cut: Cut) -> torch.Tensor:
    """A sample of an encoded picture."""
    crop = simplejpeg.decode_jpeg(file)[cut.top : cut.top + cut.height, cut.left : cut.left + cut.width]
    batch = torch.from_numpy(crop).permute(2, 0, 1).unsqueeze(0)
    small = functional.interpolate(batch, size=(SIZE, SIZE), mode="bilinear", antialias=True)[0]
    return _normalised(small.flip(-1) if cut.flip else small)


def _classic(file: bytes, cut: Cut) -> object:
    image = Image.open(io.BytesIO(file)).convert("RGB")
    image = image.crop((cut.left, cut.top, cut.left + cut.width, cut.top + cut.height))
    image = image.resize((SIZE, SIZE), Image.Resampling.BILINEAR)
    if cut.flip:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return _normalised(torch.from_numpy(np.array(image)).permute(2, 0, 1).contiguous())
