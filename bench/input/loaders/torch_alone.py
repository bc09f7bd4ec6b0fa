"""torch's DataLoader over the tars, simplejpeg and torch's resize; for where only torch is installed."""

import os
from typing import Any

import simplejpeg
import torch
from torch.utils.data import DataLoader, Dataset

from bench.input.loaders import BATCH, Data, Epoch, random_cut
from bench.input.peers.torch_alone import sample_of

NAME = "DataLoader over tars, simplejpeg + torch"


class _Tars(Dataset[Any]):
    """Members by their place; pread, as random access wants it."""

    def __init__(self, data: Data) -> None:
        import tarfile

        self._places = []
        for path in data.tars:
            with tarfile.open(path) as tar:
                members = {member.name: member for member in tar}
                for name, member in members.items():
                    if name.endswith(".jpg"):
                        self._places.append((path, member.offset_data, member.size))
        self._files: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, number: int) -> torch.Tensor:
        path, offset, size = self._places[number]
        if path not in self._files:
            self._files[path] = os.open(path, os.O_RDONLY)
        file = os.pread(self._files[path], size, offset)
        height, width, *_ = simplejpeg.decode_jpeg_header(file)
        return sample_of(file, random_cut(width, height))


def opened(data: Data, workers: int) -> Epoch:
    """Worker processes that stay from epoch to epoch."""
    loader = DataLoader(
        _Tars(data), batch_size=BATCH, shuffle=True, num_workers=workers, persistent_workers=True, prefetch_factor=2
    )
    return lambda: loader
