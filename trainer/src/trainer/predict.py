"""Predict single images with the very preprocessing that evaluation uses.

    python -m trainer.predict --model DIR [--top K] IMAGE…

prints one JSON line an image: `{"path", "label", "confidence", "top": [[label, confidence], …]}`, or
`{"path", "error"}` for one that cannot be read; then the exit code is 2.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from trainer.buckets import local_path
from trainer.command import fail_in_one_sentence
from trainer.data.loader import load_images
from trainer.evaluate import logits_of
from trainer.export import ExportedModel, load_model, use_fixed_threads
from trainer.fields import require
from trainer.metrics import softmax

BATCH = 32


def predict(model: ExportedModel, paths: Sequence[Path], top: int, threads: int) -> Iterator[dict[str, Any]]:
    """One answer an image, in order: label, confidence and the `top` best classes; or what is wrong with it."""
    preprocessing = model.preprocessing
    for first in range(0, len(paths), BATCH):
        part = paths[first : first + BATCH]
        loaded = load_images(
            part,
            size=preprocessing.size,
            resize_shorter_side=preprocessing.resize_shorter_side,
            mean=preprocessing.mean,
            std=preprocessing.std,
            threads=threads,
        )
        probabilities = softmax(logits_of(model.module, loaded.images, torch.device("cpu")))
        for path, status, row in zip(part, loaded.statuses, probabilities, strict=True):
            yield {"path": str(path), "error": status} if status != "ok" else _answer(path, model.classes, row, top)


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
    parser.add_argument("images", nargs="+", metavar="IMAGE")
    options = parser.parse_args(arguments)
    require(options.top >= 1, "--top", options.top, "give 1 or more")
    require(options.threads >= 1, "--threads", options.threads, "give 1 or more")
    use_fixed_threads(options.threads)
    model = load_model(local_path(options.model))
    failed = False
    for answer in predict(model, [local_path(image) for image in options.images], options.top, options.threads):
        print(json.dumps(answer, ensure_ascii=False, sort_keys=True), flush=True)
        failed = failed or "error" in answer
    return 2 if failed else 0


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
