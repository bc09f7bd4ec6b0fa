"""Opening loaders in tests with one line."""

from collections.abc import Callable
from typing import Any

import numpy as np

from trainer.data.crops import CropConfig
from trainer.data.loader import BadSamplePolicy, EvalLoader, TrainBatch, TrainLoader
from trainer.data.order import Order
from trainer.data.snapshot import Rows


def train_loader(rows: Rows, steps: tuple[int, int] = (0, 10), size: Callable[[int], int] = lambda _: 32,
                 **changes: Any) -> TrainLoader:  # fmt: skip
    """A loader over `rows`: batch 8, 32 pixels, seed 5; `changes` as TrainLoader's arguments."""
    order = Order(rows_count=len(rows), seed=5, class_ids=rows.class_ids, shard=rows.shard)
    arguments: dict[str, Any] = {
        "order": order, "batch_size": 8, "rank": 0, "world_size": 1, "size_at": size, "crop": CropConfig(), "seed": 5,
        "threads": 2, "start_step": steps[0], "stop_step": steps[1], "policy": BadSamplePolicy(),
    }  # fmt: skip
    return TrainLoader(rows, **{**arguments, **changes})


def eval_loader(rows: Rows, **changes: Any) -> EvalLoader:
    """Evaluation at 32 of 36 pixels, batch 8."""
    arguments: dict[str, Any] = {
        "size": 32, "resize_shorter_side": 36, "mean": (0.5, 0.5, 0.5), "std": (0.25, 0.25, 0.25), "batch_size": 8,
        "rank": 0, "world_size": 1, "threads": 2,
    }  # fmt: skip
    return EvalLoader(rows, **{**arguments, **changes})


def kept(batch: TrainBatch) -> TrainBatch:
    """The batch with pixels of its own."""
    return TrainBatch(
        step=batch.step,
        images=batch.images.copy(),
        class_ids=batch.class_ids,
        samples=batch.samples,
        epochs=batch.epochs,
    )


def all_batches(loader: TrainLoader) -> list[TrainBatch]:
    """What the loader gives, copied; closes it."""
    with loader:
        return [kept(batch) for batch in loader]


def same(left: TrainBatch, right: TrainBatch) -> bool:
    """Whether two batches are equal in everything."""
    return left.step == right.step and all(
        np.array_equal(getattr(left, name), getattr(right, name))
        for name in ("images", "class_ids", "samples", "epochs")
    )


def joined(parts: list[TrainBatch]) -> TrainBatch:
    """The workers' parts of a step as one batch."""
    return TrainBatch(
        step=parts[0].step,
        images=np.concatenate([part.images for part in parts]),
        class_ids=np.concatenate([part.class_ids for part in parts]),
        samples=np.concatenate([part.samples for part in parts]),
        epochs=np.concatenate([part.epochs for part in parts]),
    )
