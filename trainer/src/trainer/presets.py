"""Whole configurations by budget: choose the one whose time you have, change single fields with --set."""

import difflib
from collections.abc import Callable

from trainer.checkpoint import CheckpointConfig
from trainer.config import ComputeConfig, DataConfig, EvaluationConfig, RunConfig
from trainer.data.augment import AugmentConfig
from trainer.data.loader import BadSamplePolicy
from trainer.ema import EmaConfig
from trainer.errors import ConfigError
from trainer.models import ModelConfig
from trainer.optimizer import LossConfig, OptimizerConfig
from trainer.schedule import ScheduleConfig, SizeConfig


def smoke() -> RunConfig:
    """Seconds on one core: shows that everything is in place, not that anything is learned."""
    return RunConfig(
        preset="smoke",
        epochs=2,
        batch_size=16,
        model=ModelConfig(function="trainer.models:resnet18", arguments={"width": 8}),
        size=SizeConfig(start=32, end=32, evaluation=32, evaluation_shorter_side=36),
        optimizer=OptimizerConfig(name="adamw", learning_rate=3e-3, weight_decay=0.01),
        checkpoint=CheckpointConfig(every_seconds=30.0),
    )


def demo() -> RunConfig:
    """A few thousand small pictures on two cores in a minute or so: a narrow ResNet-9 at 64 pixels.

    Strong augmentation: without it, 16 epochs are enough to learn 2,200 pictures by heart. At 48 pixels and 16 epochs
    the lead over a linear model is not sure with most seeds (docs/benchmarks.md).
    """
    return RunConfig(
        preset="demo",
        epochs=28,
        batch_size=64,
        model=ModelConfig(function="trainer.models:resnet9", arguments={"width": 16, "dropout": 0.1}),
        size=SizeConfig(start=64, end=64, evaluation=64, evaluation_shorter_side=64),
        data=DataConfig(bad_samples=BadSamplePolicy("skip", 20)),
        augment=AugmentConfig(strength=1.0, scale_min=0.5, erasing=True),
        loss=LossConfig(label_smoothing=0.1),
        optimizer=OptimizerConfig(name="adamw", learning_rate=4e-3, weight_decay=0.05),
        schedule=ScheduleConfig(warmup_epochs=0.5),
        ema=EmaConfig(decay=0.98),
        evaluation=EvaluationConfig(every_epochs=2),
        checkpoint=CheckpointConfig(every_seconds=20.0),
    )


def night_16() -> RunConfig:
    """ResNet-50, 16 epochs: the recipe for a night on 4 A100.

    ffcv-imagenet (rn50_configs, 8 A100) reports 71.4 % top-1 on ImageNet for 16 epochs of this shape:
    160 to 192 pixels, SGD, label smoothing. Not measured by us.
    """
    return _night(16)


def night_30() -> RunConfig:
    """ResNet-50, 30 epochs: for when the night allows twice as much; ffcv-imagenet's 32 epochs reach 74.3 %."""
    return _night(30)


def _night(epochs: int) -> RunConfig:
    return RunConfig(
        preset=f"night-{epochs}",
        epochs=epochs,
        batch_size=1024,
        model=ModelConfig(function="trainer.models:resnet50"),
        data=DataConfig(threads=12, depth=4, shuffle_window_shards=64, bad_samples=BadSamplePolicy("skip", 1000)),
        size=SizeConfig(start=160, end=192, ramp_start=0.35, ramp_end=0.8, evaluation=224, evaluation_shorter_side=256),
        augment=AugmentConfig(strength=0.0, scale_min=0.25),
        loss=LossConfig(label_smoothing=0.1),
        optimizer=OptimizerConfig(name="sgd", learning_rate=2.0, weight_decay=5e-5),
        schedule=ScheduleConfig(warmup_epochs=2.0),
        ema=EmaConfig(decay=0.9998),
        compute=ComputeConfig(precision="bf16", deterministic=False),
        checkpoint=CheckpointConfig(every_seconds=120.0),
        evaluation=EvaluationConfig(batch_size=256),
    )


PRESETS: dict[str, Callable[[], RunConfig]] = {
    "smoke": smoke,
    "demo": demo,
    "night-16": night_16,
    "night-30": night_30,
}


def preset(name: str) -> RunConfig:
    """The preset called `name`. Raises ConfigError with the nearest known one."""
    if name not in PRESETS:
        close = difflib.get_close_matches(name, PRESETS, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"give one of {', '.join(PRESETS)}"
        raise ConfigError(f"there is no preset {name!r}", where="--preset", remedy=hint)
    return PRESETS[name]()
