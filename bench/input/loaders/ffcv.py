"""FFCV from its own file, for which it encodes every picture again."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image

from bench.input.loaders import BATCH, Data, Epoch
from bench.input.workload import MEAN, SIZE, STD

NAME = "FFCV, own file (re-encoded)"


class _Decoded:
    def __init__(self, samples: list[tuple[bytes, int]]) -> None:
        self._samples = samples

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, number: int) -> tuple[Any, int]:
        file, label = self._samples[number]
        return np.asarray(Image.open(io.BytesIO(file)).convert("RGB")), label


def opened(data: Data, workers: int) -> Epoch:
    """Quality 84 makes files about as large as the originals."""

    def write(folder: Path) -> None:
        folder.mkdir()
        fields = {
            "image": RGBImageField(write_mode="jpg", jpeg_quality=84, max_resolution=1000),
            "label": IntField(),
        }
        DatasetWriter(str(folder / "data.beton"), fields, num_workers=1).from_indexed_dataset(
            _Decoded(list(data.samples()))
        )

    loader = Loader(
        str(data.written("ffcv", write) / "data.beton"),
        batch_size=BATCH,
        num_workers=workers,
        order=OrderOption.RANDOM,
        os_cache=True,
        drop_last=False,
        pipelines={
            "image": [
                RandomResizedCropRGBImageDecoder((SIZE, SIZE)),
                RandomHorizontalFlip(),
                NormalizeImage(np.array(MEAN) * 255, np.array(STD) * 255, np.float32),
                ToTensor(),
                ToTorchImage(convert_back_int16=False),
            ],
            "label": [IntDecoder(), ToTensor()],
        },
    )
    return lambda: loader
