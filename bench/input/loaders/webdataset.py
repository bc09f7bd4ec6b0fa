"""webdataset from the tars, in torch's DataLoader; with no workers it runs in this process."""

from typing import Any

import webdataset

from bench.input.loaders import BATCH, SHUFFLE, Data, Epoch
from bench.input.loaders.torchvision_steps import tensor_of

NAME = "webdataset, tar"


def opened(data: Data, workers: int) -> Epoch:
    """Its own recipe; batches are made in the workers."""
    dataset: Any = webdataset.WebDataset(data.tars, shardshuffle=100, empty_check=False).shuffle(SHUFFLE)
    dataset = dataset.to_tuple("jpg", "cls").map_tuple(tensor_of, int).batched(BATCH)
    loader = webdataset.WebLoader(dataset, batch_size=None, num_workers=workers, persistent_workers=True)
    return lambda: loader
