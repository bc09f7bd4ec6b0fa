"""What a model must beat: the most frequent class, and multinomial logistic regression on small pixels.

    python -m trainer.baseline --snapshot DIR --shards DIR --split test --output FILE.parquet

writes the regression's predictions in the format of trainer.evaluate. The majority class and its accuracy
stand in the file's metadata. Same inputs, same bytes: the fit starts at zero and has no chance in it.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trainer.buckets import local_path
from trainer.command import add_data_arguments, fail_in_one_sentence
from trainer.config import IMAGENET_MEAN, IMAGENET_STD
from trainer.data.loader import EvalLoader
from trainer.data.snapshot import Rows, open_snapshot
from trainer.errors import SnapshotError
from trainer.export import use_fixed_threads
from trainer.files import sha256_bytes
from trainer.metrics import measure
from trainer.predictions import Predictions, write_predictions

SIDE = 16
"""Pixels of the square that a picture is shrunk to; 3 colours: 768 features."""
PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1)
"""L2 penalties that are tried; the one with the least validation loss is taken."""
_ITERATIONS = 60


@dataclass(frozen=True)
class Baseline:
    """A fitted linear model: logits = (pixels - mean) / std @ weights + bias."""

    mean: Tensor
    std: Tensor
    weights: Tensor
    bias: Tensor
    penalty: float

    def logits(self, pixels: Tensor) -> NDArray[np.float32]:
        """Logits [n, classes] of `pixels` [n, features]."""
        return np.asarray(((pixels - self.mean) / self.std @ self.weights + self.bias).float().numpy())


@dataclass(frozen=True)
class Report:
    """What the baseline reached on the split."""

    majority_class: str
    majority_accuracy: float
    accuracy: float
    balanced_accuracy: float


def small_pixels(rows: Rows, threads: int) -> Tensor:
    """The pictures of `rows` as float64 [n, 3 * SIDE * SIDE], through the evaluation loader."""
    parts = []
    with EvalLoader(
        rows,
        size=SIDE,
        resize_shorter_side=SIDE,
        mean=IMAGENET_MEAN,
        std=IMAGENET_STD,
        batch_size=256,
        rank=0,
        world_size=1,
        threads=threads,
    ) as loader:
        for batch in loader:
            parts.append(torch.from_numpy(batch.images).double().flatten(1))
    return torch.cat(parts)


def fit(pixels: Tensor, class_ids: Tensor, classes: int, penalty: float) -> Baseline:
    """Minimise mean cross entropy + `penalty` / 2 * squared weights by L-BFGS, from zero; float64."""
    mean, std = pixels.mean(0), pixels.std(0).clamp(min=1e-6)
    standard = (pixels - mean) / std
    weights = torch.zeros(pixels.shape[1], classes, dtype=torch.double, requires_grad=True)
    bias = torch.zeros(classes, dtype=torch.double, requires_grad=True)
    optimizer = torch.optim.LBFGS([weights, bias], max_iter=_ITERATIONS, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(standard @ weights + bias, class_ids)
        loss = loss + penalty / 2 * weights.square().sum()
        loss.backward()  # type: ignore[no-untyped-call]
        return loss

    optimizer.step(closure)  # type: ignore[no-untyped-call]
    return Baseline(mean, std, weights.detach(), bias.detach(), penalty)


def fit_best(train: tuple[Tensor, Tensor], validation: tuple[Tensor, Tensor], classes: int) -> Baseline:
    """The fit whose penalty has the least validation loss; (pixels, class ids) each."""
    fits = [fit(*train, classes, penalty) for penalty in PENALTIES]
    truth = validation[1].numpy()
    return min(fits, key=lambda candidate: measure(candidate.logits(validation[0]), truth).loss)


def baseline(snapshot_folder: Path, shards: Path, split: str, output: Path, threads: int) -> Report:
    """Fit on train, choose on validation, predict `split`, write `output`. Raises TrainerError, OSError."""
    snapshot = open_snapshot(snapshot_folder, shards)
    classes = tuple(snapshot.classes)
    rows = {name: snapshot.rows(name) for name in {"train", "validation", split}}
    for name, part in rows.items():
        if len(part) == 0:
            raise SnapshotError(f"no image is in the {name} split", where=str(snapshot_folder))
    data = {
        name: (small_pixels(part, threads), torch.from_numpy(np.asarray(part.class_ids))) for name, part in rows.items()
    }
    model = fit_best(data["train"], data["validation"], len(classes))
    logits, truth = model.logits(data[split][0]), data[split][1].numpy()
    majority = int(np.bincount(data["train"][1].numpy(), minlength=len(classes)).argmax())
    metrics = measure(logits, truth)
    report = Report(classes[majority], float((truth == majority).mean()), metrics.accuracy, metrics.balanced_accuracy)
    facts = {
        "weights_sha256": sha256_bytes(model.weights.numpy().tobytes() + model.bias.numpy().tobytes()),
        "snapshot_sha256": snapshot.sha256,
        "split": split,
        "baseline": f"multinomial logistic regression on {SIDE}x{SIDE} pixels",
        "penalty": model.penalty,
        "majority_class": report.majority_class,
        "majority_accuracy": report.majority_accuracy,
    }
    part = rows[split]
    labels = [classes[index] for index in part.class_ids]
    predictions = Predictions(part.keys.to_pylist(), part.group_ids.to_pylist(), labels, logits, classes)
    write_predictions(output, predictions, facts)
    return report


def main(arguments: Sequence[str]) -> int:
    """The command: prints one JSON line with both baselines; 0, or 2 with one sentence."""
    parser = argparse.ArgumentParser(prog="python -m trainer.baseline", description="Fit and predict the baselines.")
    add_data_arguments(parser)
    parser.add_argument("--split", default="test", choices=("train", "validation", "test"))
    parser.add_argument("--output", required=True, help="the Parquet file to write")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args(arguments)
    use_fixed_threads(options.threads)
    report = baseline(
        local_path(options.snapshot),
        local_path(options.shards),
        options.split,
        local_path(options.output),
        options.threads,
    )
    print(json.dumps(vars(report), sort_keys=True, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(fail_in_one_sentence(main, sys.argv[1:]))
