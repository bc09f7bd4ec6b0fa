"""torchdata's nodes with threads, over files in a folder: it has no tar reader of its own."""

from pathlib import Path
from typing import Any

from torch.utils.data import RandomSampler, default_collate
from torchdata import nodes

from bench.input.loaders import BATCH, Data, Epoch
from bench.input.loaders.torchvision_steps import tensor_of

NAME = "torchdata.nodes, threads, files"


def opened(data: Data, workers: int) -> Epoch:
    """A map in threads, then batches."""

    def write(folder: Path) -> None:
        folder.mkdir()
        for number, (file, label) in enumerate(data.samples()):
            (folder / f"{number:06d}-{label}.jpg").write_bytes(file)

    paths = sorted(data.written("files", write).iterdir())

    def sample(number: int) -> Any:
        return tensor_of(paths[number].read_bytes()), int(paths[number].stem.split("-")[1])

    node: Any = nodes.SamplerWrapper(RandomSampler(range(len(paths))))
    node = nodes.ParallelMapper(node, sample, num_workers=workers, method="thread", in_order=True)
    return lambda: nodes.Loader(nodes.Mapper(nodes.Batcher(node, BATCH, drop_last=False), default_collate))
