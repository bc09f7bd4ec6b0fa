"""When what happens in a run, counted in steps: pure arithmetic over the endless stream of samples."""

from dataclasses import dataclass

from trainer.config import RunConfig


@dataclass(frozen=True)
class Plan:
    """A run over `samples` training samples an epoch. Epochs end inside steps: no sample is dropped."""

    samples: int
    batch_size: int
    epochs: int
    every_epochs: int
    frozen_epochs: int

    @classmethod
    def of(cls, config: RunConfig, samples: int) -> "Plan":
        """The plan of `config` for a training split of `samples`."""
        return cls(
            samples, config.batch_size, config.epochs, config.evaluation.every_epochs, config.model.frozen_epochs
        )

    @property
    def steps_per_epoch(self) -> float:
        """Not a whole number in general."""
        return self.samples / self.batch_size

    @property
    def total_steps(self) -> int:
        """Steps until every epoch is complete."""
        return self.epoch_end(self.epochs)

    def epoch_end(self, epoch: int) -> int:
        """Steps done when the first `epoch` epochs are complete."""
        return -(-epoch * self.samples // self.batch_size)

    def epoch_to_evaluate(self, step: int) -> int | None:
        """The number of complete epochs, when the model is measured after `step` steps; else None."""
        complete = step * self.batch_size // self.samples if step < self.total_steps else self.epochs
        if complete == 0 or self.epoch_end(complete) != step:
            return None
        return complete if complete == self.epochs or complete % self.every_epochs == 0 else None

    def is_frozen(self, step: int) -> bool:
        """Whether step number `step` (from 0) trains the head alone."""
        return step < self.epoch_end(self.frozen_epochs)
