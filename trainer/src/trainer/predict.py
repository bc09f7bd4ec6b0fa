"""Predict single images with the very preprocessing that evaluation uses.

    python -m trainer.predict --model DIR [--top K] IMAGE…

prints one JSON line an image: `{"path", "label", "confidence", "top": [[label, confidence], …]}`, or
`{"path", "error"}` for one that cannot be read; then the exit code is 2.
"""

import argparse
import functools
import itertools
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trainer.buckets import local_path
from trainer.command import add_cache_arguments, cache_of, fail_in_one_sentence
from trainer.data.ahead import brought
from trainer.data.cache import CacheConfig
from trainer.data.loader import load_images
from trainer.evaluate import logits_of
from trainer.export import ExportedModel, Preprocessing, load_model, use_fixed_threads
from trainer.fields import require
from trainer.metrics import softmax

BATCH = 32
Pixels = NDArray[np.float32]


def predict(
    model: ExportedModel, paths: Sequence[Path], top: int, threads: int, cache: CacheConfig | None = None
) -> Iterator[dict[str, Any]]:
    """One answer an image, in order: label, confidence and the `top` best classes; or what is wrong with it.

    With a `cache` those in Cloud Storage are read ahead into its folder.
    """
    loaded = _loaded(model.preprocessing, paths, threads, cache)
    for some in iter(lambda: list(itertools.islice(loaded, BATCH)), []):
        images = np.concatenate([image for _, image, _ in some])
        probabilities = softmax(logits_of(model.module, images, torch.device("cpu")))
        for (path, _, status), row in zip(some, probabilities, strict=True):
            yield {"path": str(path), "error": status} if status != "ok" else _answer(path, model.classes, row, top)


def _loaded(
    preprocessing: Preprocessing, paths: Sequence[Path], threads: int, cache: CacheConfig | None
) -> Iterator[tuple[Path, Pixels, str]]:
    """Each file's picture, float32 [1, 3, s, s], and "ok" or what is wrong with it."""
    load = functools.partial(
        load_images,
        size=preprocessing.size,
        resize_shorter_side=preprocessing.resize_shorter_side,
        mean=preprocessing.mean,
        std=preprocessing.std,
        threads=threads,
    )
    if cache is not None and cache.folder:
        for path, (near, problem) in zip(paths, brought(paths, cache), strict=True):
            loaded = load([near])
            yield path, loaded.images, problem or loaded.statuses[0]
        return
    for first in range(0, len(paths), BATCH):
        part = paths[first : first + BATCH]
        loaded = load(part)
        for i, path in enumerate(part):
            yield path, loaded.images[i : i + 1], loaded.statuses[i]


def _answer(path: Path, classes: tuple[str, ...], probabilities: Any, top: int) -> dict[str, Any]:
    order = sorted(range(len(classes)), key=lambda index: (-probabilities[index], index))[:top]
    best = [[classes[index], float(probabilities[index])] for index in order]
    return {"path": str(path), "label": best[0][0], "confidence": best[0][1], "top": best}


def main(arguments: Sequence[str]) -> int:
    """The command: 0, or 2 when an image could not be read."""
    parser = argparse.ArgumentParser(prog="python -m trainer.predict", description="Predict single images.")
    parser.add_argument("--model", required=True, help="model folder of a run or of the registry")
    parser.add_argument("--top", type=int, default=1, help="how many classes to show")
    parser.add_argument("--threads", type=int, default=1)
    add_cache_arguments(parser)
    parser.add_argument("images", nargs="+", metavar="IMAGE")
    options = parser.parse_args(arguments)
    require(options.top >= 1, "--top", options.top, "give 1 or more")
    require(options.threads >= 1, "--threads", options.threads, "give 1 or more")
    use_fixed_threads(options.threads)
    model = load_model(local_path(options.model))
    failed = False
    paths = [local_path(image) for image in options.images]
    for answer in predict(model, paths, options.top, options.threads, cache_of(options)):
        print(json.dumps(answer, ensure_ascii=False, sort_keys=True), flush=True)
        failed = failed or "error" in answer
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
