"""Ours: `InputStream` over a folder of tars; threads in this process."""

from collections.abc import Iterator
from typing import Any

from bench.input.loaders import BATCH, Data, Epoch
from bench.input.workload import MEAN, SIZE, STD
from trainer.data.buffers import PixelFormat
from trainer.data.native import Normalisation
from trainer.data.stream import InputStream
from trainer.data.tars import open_tars

NAME = "ours, tar"


def opened(data: Data, workers: int) -> Epoch:
    """A stream whose epoch ends after the batch in which all pictures have been seen."""
    rows = open_tars(data.shards, cache=data.formats / "ours").rows
    pixels = PixelFormat(number="float32", normalisation=Normalisation(MEAN, STD))
    stream = InputStream(rows, batch_size=BATCH, size=SIZE, threads=workers, pixels=pixels)

    def epoch() -> Iterator[Any]:
        for _ in range(data.pictures // BATCH):
            yield next(stream).images

    return epoch
