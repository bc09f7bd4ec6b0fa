"""What the loaders of the torch family do to each picture: torchvision v2 on tensors, its fastest recipe."""

from typing import Any

import torch
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2

from bench.input.workload import MEAN, SIZE, STD

torch.set_num_threads(1)

_TRANSFORM = v2.Compose(
    [
        v2.RandomResizedCrop(SIZE, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.ToDtype(torch.float32, scale=True),
        v2.Normalize(list(MEAN), list(STD)),
    ]
)


def tensor_of(file: bytes) -> Any:
    """A sample of an encoded picture."""
    return _TRANSFORM(decode_jpeg(torch.frombuffer(bytearray(file), dtype=torch.uint8), mode=ImageReadMode.RGB))
