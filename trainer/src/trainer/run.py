"""What stays the same in a run from the first step to the last, and the state it begins with."""

from dataclasses import dataclass
from pathlib import Path

import torch

from trainer.config import RunConfig
from trainer.data.order import Order
from trainer.data.snapshot import Rows, Snapshot, open_snapshot
from trainer.data.subsample import subsample
from trainer.distributed import Worker
from trainer.ema import averaged_copy
from trainer.errors import SnapshotError
from trainer.image import Image
from trainer.models import build_model, head_name, start_from
from trainer.optimizer import build_optimizer
from trainer.plan import Plan
from trainer.state import Progress, RunState


@dataclass(frozen=True)
class Paths:
    """Where a run reads and writes: the snapshot's folder, the folder of all shard sets, the run folder."""

    snapshot: Path
    shards: Path
    output: Path


@dataclass(frozen=True)
class Run:
    """The fixed parts of a run."""

    config: RunConfig
    output: Path
    worker: Worker
    snapshot: Snapshot
    train_rows: Rows
    validation_rows: Rows
    order: Order
    plan: Plan
    image: Image | None = None
    """What it runs in; None outside an image."""

    @property
    def classes(self) -> tuple[str, ...]:
        """Class names in the order of logits."""
        return tuple(self.snapshot.classes)

    @property
    def image_digest(self) -> str | None:
        """Of the image that it runs in, where it is known."""
        return self.image.digest if self.image else None

    @property
    def checkpoints(self) -> Path:
        """Where checkpoints stand."""
        return self.output / "checkpoints"


def prepare(config: RunConfig, paths: Paths, worker: Worker, image: Image | None = None) -> Run:
    """Open the snapshot and fix the order of samples. Raises TrainerError where a split is empty."""
    snapshot = open_snapshot(paths.snapshot, paths.shards)
    train_rows = subsample(snapshot.rows("train"), config.data.subsample)
    validation_rows = snapshot.rows("validation")
    for rows, split in ((train_rows, "train"), (validation_rows, "validation")):
        if len(rows) == 0:
            raise SnapshotError(
                f"no image is in the {split} split",
                where=str(paths.snapshot),
                remedy="import more images, or change the shares of the splits",
            )
    order = Order(
        rows_count=len(train_rows),
        seed=config.seed,
        sampling=config.data.sampling,
        class_ids=train_rows.class_ids,
        shard=train_rows.shard,
        shuffle_window_shards=config.data.shuffle_window_shards,
    )
    plan = Plan.of(config, len(train_rows))
    return Run(config, paths.output, worker, snapshot, train_rows, validation_rows, order, plan, image)


def initial_state(run: Run) -> RunState:
    """The state before the first step: the same on every worker, because it is made from the seed on the CPU."""
    config = run.config
    torch.manual_seed(config.seed)
    model = build_model(config.model.function, config.model.arguments, len(run.classes))
    head = head_name(model, config.model.head)
    if config.model.pretrained:
        start_from(model, config.model.pretrained, head, run.classes)
    layout = torch.channels_last if config.compute.channels_last else torch.contiguous_format
    model = model.to(run.worker.device, memory_format=layout)  # type: ignore[call-overload]
    average = averaged_copy(model) if config.ema.decay > 0 else None
    scaler = torch.amp.GradScaler(run.worker.device.type, enabled=config.compute.precision == "fp16")
    return RunState(model, average, build_optimizer(model, config.optimizer), scaler, head, Progress())
