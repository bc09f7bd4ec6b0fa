"""mosaicml-streaming from its own MDS files, in torch's DataLoader."""

from pathlib import Path
from typing import Any

import streaming
from torch.utils.data import DataLoader

from bench.input.loaders import BATCH, Data, Epoch
from bench.input.loaders.torchvision_steps import tensor_of

NAME = "mosaicml-streaming, MDS"


class _Pictures(streaming.StreamingDataset):  # type: ignore[misc]
    def __getitem__(self, at: Any) -> Any:
        item = super().__getitem__(at)
        return tensor_of(item["jpg"]), item["cls"]


def opened(data: Data, workers: int) -> Epoch:
    """Shared memory of a run that was killed would stop it, so that is cleared first."""

    def write(folder: Path) -> None:
        with streaming.MDSWriter(out=str(folder), columns={"jpg": "bytes", "cls": "int"}, size_limit=1 << 24) as writer:
            for file, label in data.samples():
                writer.write({"jpg": file, "cls": label})

    folder = data.written("mds", write)
    streaming.base.util.clean_stale_shared_memory()
    dataset = _Pictures(local=str(folder), shuffle=True, batch_size=BATCH)
    loader: DataLoader[Any] = DataLoader(dataset, batch_size=BATCH, num_workers=workers, persistent_workers=True)
    return lambda: loader
