"""litdata from its own chunks."""

from pathlib import Path
from typing import Any

import litdata

from bench.input.loaders import BATCH, Data, Epoch
from bench.input.loaders.torchvision_steps import tensor_of

NAME = "litdata, own chunks"


class _Pictures(litdata.StreamingDataset):  # type: ignore[misc]
    def __getitem__(self, index: Any) -> Any:
        item = super().__getitem__(index)
        return tensor_of(item["jpg"]), item["cls"]


class _Pick:
    def __init__(self, samples: list[tuple[bytes, int]]) -> None:
        self._samples = samples

    def __call__(self, number: int) -> dict[str, Any]:
        file, label = self._samples[number]
        return {"jpg": file, "cls": label}


def opened(data: Data, workers: int) -> Epoch:
    """Its StreamingDataLoader."""

    def write(folder: Path) -> None:
        samples = list(data.samples())
        litdata.optimize(
            fn=_Pick(samples),
            inputs=list(range(len(samples))),
            output_dir=str(folder),
            num_workers=1,
            chunk_bytes="16MB",
        )

    folder = data.written("litdata", write)
    loader = litdata.StreamingDataLoader(
        _Pictures(str(folder), shuffle=True), batch_size=BATCH, num_workers=workers, persistent_workers=True
    )
    return lambda: loader
