"""One loader in a process of its own: an epoch to warm up, then one that counts; one line of JSON.

PYTHON -m bench.input.loader_worker LOADER WORKERS SHARDS PICTURES FORMATS
"""

import argparse
import importlib
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.input.loaders import Data
from bench.input.processes import cpu_seconds, memory_mb

_MEMORY_AT = 5  # batches into an epoch, when every queue is full


def main() -> None:
    """Measure, print, leave without waiting for a peer's threads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("loader")
    parser.add_argument("workers", type=int)
    parser.add_argument("shards", type=Path)
    parser.add_argument("pictures", type=int)
    parser.add_argument("formats", type=Path)
    options = parser.parse_args()
    module = importlib.import_module(f"bench.input.loaders.{options.loader}")
    begin = module.opened(Data(options.shards, options.pictures, options.formats), options.workers)
    memory = _drain(begin())[1]
    seconds, wall = cpu_seconds(), time.monotonic()
    pictures, late = _drain(begin())
    wall = time.monotonic() - wall
    used = cpu_seconds() - seconds
    print(json.dumps({"name": module.NAME, "pictures": pictures, "cpu": used, "wall": wall, "mb": max(memory, late)}))
    sys.stdout.flush()
    os._exit(0)


def _drain(batches: Iterable[Any]) -> tuple[int, float]:
    """How many pictures came, and the memory on the way, MB."""
    pictures, memory = 0, 0.0
    for number, batch in enumerate(batches):
        if number == _MEMORY_AT:
            memory = memory_mb()
        paired = isinstance(batch, (tuple, list)) and len(batch) == 2
        pictures += len(batch[0] if paired else batch)
    return pictures, memory


if __name__ == "__main__":
    main()
