"""A small gallery on disk: images, their catalogue, and shard sets made from it with Beam."""

import functools
import random
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from overnight.catalog import catalogue
from overnight.catalog.digests import catalogued
from overnight.catalog.found import Found
from overnight.shards import pipeline
from overnight.shards.build import Order, append, build, build_anew
from overnight.shards.examine import Rules
from overnight.shards.manifest import Settings
from overnight.shards.rewriter import Rewriter
from overnight.shards.write import Outcome, write_shard

SETTINGS = Settings(max_shorter_side=0, jpeg_quality=95, max_pixels=1_000_000, images_per_shard=7)


def draw(seed: int) -> Image.Image:
    """A smooth random picture of a size that depends on the seed."""
    noise = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return Image.fromarray(noise).resize((24 + seed % 9, 20 + seed % 5), Image.Resampling.BICUBIC)


@dataclass(frozen=True)
class Gallery:
    """Images in a folder, the catalogue of them, and a `shards/` folder."""

    base: Path
    settings: Settings = SETTINGS

    @property
    def images(self) -> Path:
        return self.base / "images"

    @property
    def catalogue(self) -> Path:
        return self.base / "catalog" / "images.parquet"

    @property
    def shards(self) -> Path:
        return self.base / "shards"

    def put(self, source: str, data: bytes | int) -> None:
        """Write a file's bytes, or a drawn JPEG of a seed."""
        path = self.images / source
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(data, int):
            draw(data).save(path, "JPEG", quality=90)
        else:
            path.write_bytes(data)

    def fill(self, count: int, first: int = 0) -> "Gallery":
        for seed in range(first, first + count):
            self.put(f"class-{seed % 3}/image-{seed:03d}.jpg", seed)
        return self

    def register(self, order_seed: int = 0) -> "Gallery":
        """Catalogue every file of the folder, found in any order."""
        files = [path for path in self.images.rglob("*") if path.is_file()]
        random.Random(order_seed).shuffle(files)
        pairs = []
        for path in files:
            source = path.relative_to(self.images).as_posix()
            pairs.append((source.rsplit(".", 1)[0], Found(str(path), source, "any")))
        with catalogue.replacing(self.catalogue, catalogued(pairs, {}, lambda: None)):
            pass
        return self

    def order(self, folder: str | None = None) -> Order:
        return Order(self.catalogue, folder or str(self.shards), self.settings)

    def build(self, workers: int = 0):
        return build(self.order(), writer(workers))

    def build_anew(self, workers: int = 0):
        return build_anew(self.order(), writer(workers))

    def append(self, workers: int = 0):
        return append(self.order(), writer(workers))


def one_by_one(staging: str, numbers: range, rules: Rules) -> list[Outcome]:
    """What the pipeline does with each shard, without Beam around it: half a second less a test."""
    plan = pq.ParquetFile(f"{staging}/plan.parquet")
    with closing(Rewriter()) as rewriter:
        return [
            write_shard(plan.read_row_group(position), shard, staging, rules, rewriter)
            for position, shard in enumerate(numbers)
        ]


def writer(workers: int = 0):
    """The Beam pipeline on this machine, or with 0 workers a plain loop."""
    if workers == 0:
        return one_by_one
    return functools.partial(pipeline.run_here, workers=workers)


def rows(path: Path) -> list[dict]:
    return pq.read_table(path).to_pylist()


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below `folder` with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def gallery(tmp_path: Path) -> Gallery:
    return Gallery(tmp_path)


@pytest.fixture(name="rows")
def rows_fixture():
    return rows


@pytest.fixture(name="contents")
def contents_fixture():
    return contents


@pytest.fixture(name="writer")
def writer_fixture():
    return writer


@pytest.fixture
def make_gallery():
    return Gallery
