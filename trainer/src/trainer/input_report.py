"""What the loaders of a training met, over all its workers."""

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.data.cache import Traffic
from trainer.data.loader import BadSample, TrainLoader
from trainer.distributed import Worker, gather


@dataclass(frozen=True)
class InputReport:
    """`bad_samples`: the different ones that any worker could not decode in this attempt, by key. `slow_samples`: how
    many of the samples trained on were decoded by Pillow. `training` and `evaluation`: what reading ahead did; None
    where shards are on this machine."""

    bad_samples: tuple[BadSample, ...]
    slow_samples: int
    training: Traffic | None
    evaluation: Traffic | None


def input_report(worker: Worker, loader: TrainLoader, evaluations: Sequence[Traffic]) -> InputReport:
    """Called on every rank, with what the rank's evaluations have read ahead."""
    parts = gather(worker, (loader.bad_samples, loader.slow_samples, loader.traffic, list(evaluations)))
    found = {bad.key: bad for bad_samples, _, _, _ in parts for bad in bad_samples}
    slow = sum(slow for _, slow, _, _ in parts)
    remote = loader.traffic is not None
    training = sum((traffic for _, _, traffic, _ in parts), Traffic()) if remote else None
    evaluation = sum((traffic for _, _, _, each in parts for traffic in each), Traffic()) if remote else None
    return InputReport(tuple(found[key] for key in sorted(found)), slow, training, evaluation)
