"""DALI's own WebDataset reader, CPU operators."""

from collections.abc import Iterator
from typing import Any

from nvidia.dali import fn, pipeline_def, types

from bench.input.loaders import BATCH, SHUFFLE, Data, Epoch
from bench.input.workload import MEAN, SIZE, STD

NAME = "DALI CPU, tar"


def opened(data: Data, workers: int) -> Epoch:
    """Its random-crop decoder reads the crop alone."""

    @pipeline_def(batch_size=BATCH, num_threads=workers, device_id=None, prefetch_queue_depth=2)
    def made() -> Any:
        file, label = fn.readers.webdataset(
            paths=data.tars,
            ext=["jpg", "cls"],
            random_shuffle=True,
            initial_fill=SHUFFLE,
            missing_component_behavior="error",
            name="reader",
        )
        image = fn.decoders.image_random_crop(
            file, device="cpu", output_type=types.RGB, random_area=[0.08, 1.0], random_aspect_ratio=[3 / 4, 4 / 3]
        )
        image = fn.resize(image, size=[SIZE, SIZE], interp_type=types.INTERP_LINEAR, antialias=True)
        image = fn.crop_mirror_normalize(
            image,
            mirror=fn.random.coin_flip(),
            dtype=types.FLOAT,
            output_layout="CHW",
            mean=[255 * mean for mean in MEAN],
            std=[255 * std for std in STD],
        )
        return image, label

    pipeline = made()
    pipeline.build()

    def epoch() -> Iterator[Any]:
        for _ in range(data.pictures // BATCH):
            yield pipeline.run()[0].as_array()

    return epoch
