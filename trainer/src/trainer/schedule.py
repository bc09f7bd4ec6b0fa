"""What changes during a run, as pure functions of the step: learning rate, image size."""

import math
from dataclasses import dataclass

from trainer.fields import require


@dataclass(frozen=True, kw_only=True)
class ScheduleConfig:
    """Linear warm-up, then a half cosine."""

    warmup_epochs: float = 0.5
    """Epochs during which the learning rate climbs from `warmup_start` of its peak."""
    warmup_start: float = 0.01
    """Learning rate of the first step, as a share of the peak."""
    final: float = 0.0
    """Learning rate of the last step, as a share of the peak."""

    def __post_init__(self) -> None:
        require(self.warmup_epochs >= 0, "schedule.warmup_epochs", self.warmup_epochs, "give 0 or more epochs")
        require(0 <= self.warmup_start <= 1, "schedule.warmup_start", self.warmup_start, "give a share from 0 to 1")
        require(0 <= self.final <= 1, "schedule.final", self.final, "give a share from 0 to 1")


@dataclass(frozen=True, kw_only=True)
class SizeConfig:
    """Square image sizes in pixels. Smaller pictures early in the run cost less and teach almost as much."""

    start: int = 160
    """Training size at the beginning."""
    end: int = 192
    """Training size at the end."""
    ramp_start: float = 0.3
    """Share of the run after which the size begins to grow."""
    ramp_end: float = 0.8
    """Share of the run from which on the size is `end`."""
    multiple_of: int = 32
    """Sizes between are rounded to a multiple of this."""
    evaluation: int = 224
    """Size of validation, test and prediction."""
    evaluation_shorter_side: int = 256
    """The shorter side is resized to this before the centre of `evaluation` pixels is cut out."""

    def __post_init__(self) -> None:
        for name in ("start", "end", "evaluation", "multiple_of"):
            require(getattr(self, name) >= 1, f"size.{name}", getattr(self, name), "give 1 pixel or more")
        require(
            0 <= self.ramp_start <= self.ramp_end <= 1,
            "size.ramp_start",
            self.ramp_start,
            "give 0 <= ramp_start <= ramp_end <= 1",
        )
        require(
            self.evaluation_shorter_side >= self.evaluation,
            "size.evaluation_shorter_side",
            self.evaluation_shorter_side,
            f"give at least size.evaluation ({self.evaluation})",
        )


def learning_rate(config: ScheduleConfig, peak: float, step: int, total_steps: int, steps_per_epoch: float) -> float:
    """The rate used at `step` (from 0) of `total_steps`."""
    warmup = min(round(config.warmup_epochs * steps_per_epoch), total_steps - 1)
    if step < warmup:
        return peak * (config.warmup_start + (1 - config.warmup_start) * step / warmup)
    progress = (step - warmup) / max(1, total_steps - 1 - warmup)
    return peak * (config.final + (1 - config.final) * 0.5 * (1 + math.cos(math.pi * progress)))


def image_size(config: SizeConfig, step: int, total_steps: int, steps_per_epoch: float) -> int:
    """Training size in pixels at `step`; constant within an epoch, so that few shapes occur."""
    epoch_start = math.floor(step / steps_per_epoch) * steps_per_epoch
    progress = epoch_start / total_steps
    if progress >= config.ramp_end:
        return config.end
    if progress <= config.ramp_start or config.start == config.end:
        return config.start
    share = (progress - config.ramp_start) / (config.ramp_end - config.ramp_start)
    between = config.start + share * (config.end - config.start)
    return max(config.start, round(between / config.multiple_of) * config.multiple_of)
