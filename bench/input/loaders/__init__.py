"""Whole loaders, a module for each: tar shards (or the peer's own format) to normalised float32 batches.

Each offers `opened(data, workers)`: a function that starts one epoch over all pictures, in random order, and returns an
iterable of batches; anything with a length counts as a batch. A peer with a format of its own writes it into a folder
of `data.formats` when it is not there yet.
"""

import tarfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.input.workload import Cut

BATCH = 64
SHUFFLE = 1000  # pictures in a peer's shuffle buffer

Epoch = Callable[[], Iterable[Any]]


@dataclass(frozen=True)
class Data:
    """WebDataset shards of KEY.jpg and KEY.cls, how many pictures they hold, and where other formats may be written."""

    shards: Path
    pictures: int
    formats: Path

    @property
    def tars(self) -> list[str]:
        """Their paths, sorted."""
        return [str(path) for path in sorted(self.shards.glob("*.tar"))]

    def samples(self) -> Iterator[tuple[bytes, int]]:
        """File and class of every picture."""
        for path in self.tars:
            with tarfile.open(path) as tar:
                contents = {member.name: tar.extractfile(member) for member in tar}
                for name, file in contents.items():
                    label = contents.get(name.replace(".jpg", ".cls"))
                    if name.endswith(".jpg") and file is not None and label is not None:
                        yield file.read(), int(label.read())

    def written(self, name: str, write: Callable[[Path], object]) -> Path:
        """The folder of one format, written at first."""
        folder = self.formats / name
        if not folder.exists():
            making = folder.with_name(f".making-{name}")
            making.parent.mkdir(parents=True, exist_ok=True)
            write(making)
            making.rename(folder)
        return folder


def random_cut(width: int, height: int) -> Cut:
    """A random-resized crop (0.08 to 1.0 of the area), for peers that have none of their own."""
    import math
    import random

    for _ in range(10):
        area = width * height * random.uniform(0.08, 1.0)
        ratio = math.exp(random.uniform(math.log(3 / 4), math.log(4 / 3)))
        wide, high = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < wide <= width and 0 < high <= height:
            left, top = random.randint(0, width - wide), random.randint(0, height - high)
            return Cut(left, top, wide, high, random.random() < 0.5)
    return Cut(0, 0, width, height, random.random() < 0.5)
