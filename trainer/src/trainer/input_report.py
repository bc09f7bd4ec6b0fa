"""What the loaders of a training met, over all its workers."""

from dataclasses import dataclass

from trainer.data.loader import BadSample, TrainLoader
from trainer.distributed import Worker, gather


@dataclass(frozen=True)
class InputReport:
    """`bad_samples`: the different ones that any worker could not decode in this attempt, by key. `slow_samples`: how
    many of the samples trained on were decoded by Pillow."""

    bad_samples: tuple[BadSample, ...]
    slow_samples: int


def input_report(worker: Worker, loader: TrainLoader) -> InputReport:
    """Called on every rank."""
    parts = gather(worker, (loader.bad_samples, loader.slow_samples))
    found = {bad.key: bad for bad_samples, _ in parts for bad in bad_samples}
    return InputReport(tuple(found[key] for key in sorted(found)), sum(slow for _, slow in parts))
