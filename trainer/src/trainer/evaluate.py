"""Logits of a whole split: one function for training, evaluation afterwards and prediction.

python -m trainer.evaluate --model DIR --snapshot DIR --shards DIR --split test --output FILE.parquet
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from trainer.buckets import local_path
from trainer.command import add_cache_arguments, add_data_arguments, cache_of, fail_in_one_sentence
from trainer.data.cache import CacheConfig, Traffic
from trainer.data.loader import EvalLoader
from trainer.data.pillow import word_of
from trainer.data.snapshot import Rows, open_snapshot
from trainer.distributed import Worker, agree, gather
from trainer.export import Preprocessing, load_model, use_fixed_threads
from trainer.metrics import Metrics, measure
from trainer.predictions import Predictions, write_predictions

ALONE = Worker(0, 1, torch.device("cpu"))


@dataclass(frozen=True)
class Pass:
    """How a split is read: images of one forward pass, decoding threads, and where shards are read ahead into."""

    batch_size: int
    threads: int
    cache: CacheConfig = field(default_factory=CacheConfig)
    traffic: list[Traffic] = field(default_factory=list)
    """What each pass has read ahead, on this rank."""


def logits_of(module: nn.Module, images: NDArray[np.float32], device: torch.device) -> NDArray[np.float32]:
    """Logits [b, classes] of preprocessed `images` [b, 3, h, w], in float32 whatever the training precision."""
    with torch.inference_mode():
        return np.asarray(module(torch.from_numpy(images).to(device)).float().cpu().numpy())


def split_logits(
    module: nn.Module,
    rows: Rows,
    preprocessing: Preprocessing,
    reading: Pass,
    worker: Worker = ALONE,
    stopped: Callable[[], bool] = lambda: False,
) -> NDArray[np.float32] | None:
    """Logits [rows, classes] in row order on rank 0, None elsewhere and when a worker was told to stop.

    `module` is put into evaluation mode for the time, and left as it was.
    """
    was_training = [part for part in module.modules() if part.training]
    module.eval()
    parts: list[tuple[NDArray[Any], NDArray[np.float32]]] = []
    with _loader(rows, preprocessing, reading, worker) as loader:
        for batch in loader:
            if stopped():
                break
            parts.append((batch.indices, logits_of(module, batch.images, worker.device)))
        slow = loader.slow_samples
        if loader.traffic is not None:
            reading.traffic.append(loader.traffic)
    for part in was_training:
        part.training = True
    own = None if stopped() else (parts, slow)
    everyone = gather(worker, own)
    if not worker.leads or any(one is None for one in everyone):
        return None
    if (word := word_of(sum(slow for _, slow in everyone), len(rows))) is not None:
        print(word, file=sys.stderr, flush=True)
    return _in_order([part for parts, _ in everyone for part in parts], len(rows))


def measure_rows(
    module: nn.Module,
    rows: Rows,
    preprocessing: Preprocessing,
    reading: Pass,
    worker: Worker = ALONE,
    stopped: Callable[[], bool] = lambda: False,
) -> Metrics | None:
    """Metrics of `module` on `rows`, the same on every rank; None when a worker was told to stop."""
    logits = split_logits(module, rows, preprocessing, reading, worker, stopped)
    metrics = None if logits is None else measure(logits, np.asarray(rows.class_ids))
    return agree(worker, metrics)  # type: ignore[no-any-return]


def _loader(rows: Rows, preprocessing: Preprocessing, reading: Pass, worker: Worker) -> EvalLoader:
    return EvalLoader(
        rows,
        size=preprocessing.size,
        resize_shorter_side=preprocessing.resize_shorter_side,
        mean=preprocessing.mean,
        std=preprocessing.std,
        batch_size=-(-reading.batch_size // worker.world_size) * worker.world_size,
        rank=worker.rank,
        world_size=worker.world_size,
        threads=reading.threads,
        cache=reading.cache,
    )


def _in_order(parts: list[tuple[NDArray[Any], NDArray[np.float32]]], count: int) -> NDArray[np.float32]:
    logits = np.empty((count, parts[0][1].shape[1]), dtype=np.float32)
    for indices, values in parts:
        logits[indices] = values
    return logits


def evaluate(
    model_folder: Path, snapshot_folder: Path, shards: Path, split: str, output: Path, reading: Pass
) -> Metrics | None:
    """Write the predictions of a model on a split; its metrics, where model and snapshot have the same classes."""
    model = load_model(model_folder)
    snapshot = open_snapshot(snapshot_folder, shards)
    rows = snapshot.rows(split)
    logits = split_logits(model.module, rows, model.preprocessing, reading)
    assert logits is not None, "a single worker that nobody stops has all logits"
    labels = [snapshot.classes[index] for index in rows.class_ids]
    facts = {"weights_sha256": model.weights_sha256, "snapshot_sha256": snapshot.sha256, "split": split}
    write_predictions(
        output, Predictions(rows.keys.to_pylist(), rows.group_ids.to_pylist(), labels, logits, model.classes), facts
    )
    if tuple(snapshot.classes) != model.classes:
        return None
    return measure(logits, np.asarray(rows.class_ids))


def main(arguments: Sequence[str]) -> int:
    """The command; 0, or 2 with one sentence."""
    parser = argparse.ArgumentParser(prog="python -m trainer.evaluate", description="Predict a whole split.")
    parser.add_argument("--model", required=True, help="model folder of a run or of the registry")
    add_data_arguments(parser)
    parser.add_argument("--split", default="test", choices=("train", "validation", "test"))
    parser.add_argument("--output", required=True, help="the Parquet file to write")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--threads", type=int, default=1, help="decoding threads and torch threads")
    add_cache_arguments(parser)
    options = parser.parse_args(arguments)
    use_fixed_threads(options.threads)
    metrics = evaluate(
        local_path(options.model),
        local_path(options.snapshot),
        local_path(options.shards),
        options.split,
        local_path(options.output),
        Pass(options.batch_size, options.threads, cache_of(options)),
    )
    if metrics is not None:
        print(f"{options.split}: accuracy {metrics.accuracy:.4f}, balanced accuracy {metrics.balanced_accuracy:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
