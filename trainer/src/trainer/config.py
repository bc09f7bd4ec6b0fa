"""A run's configuration: one frozen object, from a preset, a file and `--set`, checked before anything starts."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from trainer.checkpoint import CheckpointConfig
from trainer.data.augment import AugmentConfig
from trainer.data.cache import CacheConfig
from trainer.data.loader import BadSamplePolicy
from trainer.ema import EmaConfig
from trainer.errors import ConfigError
from trainer.fields import build, flat, overlay, plain, require, with_value
from trainer.files import canonical_json, sha256_bytes
from trainer.models import ModelConfig
from trainer.optimizer import LossConfig, OptimizerConfig
from trainer.schedule import ScheduleConfig, SizeConfig

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """How samples are read."""

    bad_samples: BadSamplePolicy = field(default_factory=BadSamplePolicy)
    """What happens when a sample cannot be decoded."""
    sampling: Literal["uniform", "balanced"] = "uniform"
    """Every sample once an epoch, or every class equally often."""
    subsample: float = 1.0
    """Share of each class's groups of the training split that is trained on; the same sample in every run."""
    shuffle_window_shards: int = 0
    """0 shuffles all samples together; N reads N shards at a time in random order, for slow storage."""
    mean: tuple[float, float, float] = IMAGENET_MEAN
    """Subtracted from pixels in 0..1, by channel R, G, B."""
    std: tuple[float, float, float] = IMAGENET_STD
    """Pixels are divided by this, by channel."""
    threads: int = 1
    """Decoding threads of each process."""
    depth: int = 3
    """Batches in memory: one in use, the others being decoded ahead."""
    cache: CacheConfig = field(default_factory=CacheConfig)
    """Shards of Cloud Storage, read ahead into a folder of this machine; off by default."""
    loader: Literal["native", "reference"] = "native"
    """`reference` decodes with Pillow in the training process: what the native loader is measured against."""
    log_samples: bool = False
    """Write each step's samples and their digest to samples.log."""

    def __post_init__(self) -> None:
        require(min(self.std) > 0, "data.std", self.std, "give numbers above 0")
        require(0 < self.subsample <= 1, "data.subsample", self.subsample, "give a share above 0, at most 1 (all)")
        require(self.threads >= 1, "data.threads", self.threads, "give 1 or more")
        require(self.depth >= 2, "data.depth", self.depth, "give 2 or more")
        require(
            self.shuffle_window_shards >= 0,
            "data.shuffle_window_shards",
            self.shuffle_window_shards,
            "give 0 (off) or more shards",
        )
        require(
            self.loader == "native" or not self.cache.folder,
            "data.cache.folder",
            self.cache.folder,
            "leave it empty: the reference loader reads where shards are",
        )


@dataclass(frozen=True, kw_only=True)
class ComputeConfig:
    """What calculates, and how exactly."""

    device: Literal["auto", "cpu", "cuda"] = "auto"
    """`auto` takes a GPU where there is one."""
    precision: Literal["none", "bf16", "fp16"] = "none"
    """Mixed precision of the forward and backward pass; evaluation is always float32."""
    channels_last: bool = True
    """Memory layout of images and convolutions."""
    torch_threads: int = 1
    """Threads of each process for calculation on the CPU; fixed, because sums depend on it."""
    deterministic: bool = True
    """Use only kernels that give the same bits every time, where torch has them."""

    def __post_init__(self) -> None:
        require(self.torch_threads >= 1, "compute.torch_threads", self.torch_threads, "give 1 or more")


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """When and how the validation split is measured."""

    every_epochs: int = 1
    """Evaluate after so many epochs; the last epoch always."""
    batch_size: int = 64
    """Images of one forward pass."""
    hyperparameter_metric: str = "accuracy"
    """metricId of a tuning study: `accuracy`, `balanced_accuracy` or `loss`."""

    def __post_init__(self) -> None:
        require(self.every_epochs >= 1, "evaluation.every_epochs", self.every_epochs, "give 1 or more epochs")
        require(self.batch_size >= 1, "evaluation.batch_size", self.batch_size, "give 1 or more images")
        known = ("accuracy", "balanced_accuracy", "loss")
        require(
            self.hyperparameter_metric in known,
            "evaluation.hyperparameter_metric",
            self.hyperparameter_metric,
            f"give one of {', '.join(known)}",
        )


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """Everything that decides what a run computes."""

    preset: str = ""
    """The preset it began with, for the record."""
    seed: int = 0
    """Of weights, order, crops, augmentation and dropout."""
    epochs: int = 16
    """Passes over the training split."""
    batch_size: int = 256
    """Samples of one step over all workers."""
    micro_batch_size: int = 0
    """Samples of one forward pass; 0 = a worker's whole share. Fixed, results do not depend on the number of workers
    (but for the order in which floats are added)."""
    model: ModelConfig = field(default_factory=ModelConfig)
    data: DataConfig = field(default_factory=DataConfig)
    size: SizeConfig = field(default_factory=SizeConfig)
    augment: AugmentConfig = field(default_factory=AugmentConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    schedule: ScheduleConfig = field(default_factory=ScheduleConfig)
    ema: EmaConfig = field(default_factory=EmaConfig)
    compute: ComputeConfig = field(default_factory=ComputeConfig)
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)

    def __post_init__(self) -> None:
        require(self.seed >= 0, "seed", self.seed, "give 0 or more")
        require(self.epochs >= 1, "epochs", self.epochs, "give 1 or more")
        require(self.batch_size >= 1, "batch_size", self.batch_size, "give 1 or more")
        require(self.micro_batch_size >= 0, "micro_batch_size", self.micro_batch_size, "give 0 (off) or more")
        if self.micro_batch_size:
            require(
                self.batch_size % self.micro_batch_size == 0,
                "micro_batch_size",
                self.micro_batch_size,
                f"give a divisor of batch_size ({self.batch_size})",
            )
        require(
            self.model.frozen_epochs < self.epochs,
            "model.frozen_epochs",
            self.model.frozen_epochs,
            f"leave at least one of the {self.epochs} epochs for the whole network",
        )

    def check_workers(self, world_size: int, device: str) -> None:
        """Raise ConfigError unless the batch splits evenly over `world_size` workers, and `device` can do the rest."""
        require(
            self.compute.precision != "fp16" or device == "cuda",
            "compute.precision",
            self.compute.precision,
            "give bf16 or none on a CPU",
        )
        share = self.micro_batch_size or 1
        require(
            self.batch_size % (world_size * share) == 0,
            "batch_size",
            self.batch_size,
            f"give a multiple of {world_size * share} ({world_size} workers x micro-batches of {share})",
        )


NEUTRAL = (
    "preset",
    "data.threads",
    "data.depth",
    "data.cache.",
    "data.log_samples",
    "compute.torch_threads",
    "checkpoint.",
    "evaluation.",
)
"""Fields that a resumed run may change: they decide when and how fast, not what is learned."""

LATER = {"data.subsample": 1.0, "data.loader": "native"}
"""Fields that earlier versions did not have, with the value that means what those did: it is left out, so that their
checkpoints fit as before."""


def result_fields(config: RunConfig) -> dict[str, Any]:
    """The flat fields that decide the weights."""
    return deciding(plain(config))


def deciding(values: Mapping[str, Any]) -> dict[str, Any]:
    """`result_fields` of a configuration as config.json has it."""
    return {
        name: value
        for name, value in flat(values).items()
        if not name.startswith(NEUTRAL) and (name not in LATER or value != LATER[name])
    }


def config_digest(config: RunConfig) -> str:
    """Hex SHA-256 of `result_fields`."""
    return sha256_bytes(canonical_json(result_fields(config)))


def load_config(base: RunConfig, file: Path | None, settings: Sequence[str]) -> RunConfig:
    """`base`, then a TOML file (or a run's config.json), then `section.field=value` settings over it.

    Raises ConfigError naming the file or field and the remedy.
    """
    values: dict[str, Any] = plain(base)
    if file is not None:
        values = overlay(values, _read(file), whole=("model.arguments",))
    for setting in settings:
        path, value = _parse_setting(setting)
        values = with_value(values, path, value)
    return build(RunConfig, values)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
        values = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (FileNotFoundError, IsADirectoryError):
        raise ConfigError(
            "there is no such configuration file", where=str(path), remedy="check the path after --config"
        ) from None
    except (ValueError, UnicodeDecodeError) as error:
        kind = "JSON" if path.suffix == ".json" else "TOML"
        raise ConfigError(f"this is not {kind} ({error})", where=str(path), remedy="correct it") from None
    if not isinstance(values, dict):
        raise ConfigError("a configuration must be a table of fields", where=str(path))
    values.pop("format", None)
    return values


def _parse_setting(setting: str) -> tuple[list[str], Any]:
    name, separator, text = setting.partition("=")
    parts = name.strip().split(".")
    if not separator or not all(parts):
        raise ConfigError(f"{setting!r} sets nothing", where="--set", remedy="write section.field=value")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text  # an unquoted text
    return parts, value
