"""The model folder: weights, classes and preprocessing, everything that prediction needs (docs/formats.md)."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import nn

from trainer.config import RunConfig
from trainer.errors import TrainerError
from trainer.fields import plain
from trainer.files import canonical_json, publishing, read_json, sha256_bytes, write_durably
from trainer.models import build_model

FORMAT = "overnight.model/1"
_WEIGHTS = "model.safetensors"


class ModelError(TrainerError):
    """A model folder is missing, damaged or of another format."""


@dataclass(frozen=True)
class Preprocessing:
    """From a JPEG to the network's input."""

    size: int
    """Pixels of the square cut from the centre."""
    resize_shorter_side: int
    """Pixels of the shorter side before that."""
    mean: tuple[float, float, float]
    std: tuple[float, float, float]
    interpolation: str = "triangle-antialias"
    decode: str = "exact"

    @classmethod
    def of(cls, config: RunConfig) -> "Preprocessing":
        """As a run evaluates."""
        size = config.size
        return cls(size.evaluation, size.evaluation_shorter_side, config.data.mean, config.data.std)


@dataclass(frozen=True)
class ExportedModel:
    """A model folder, loaded: `module` is in evaluation mode, float32, on the CPU."""

    module: nn.Module
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    weights_sha256: str


def export_model(folder: Path, module: nn.Module, config: RunConfig, classes: tuple[str, ...]) -> str:
    """Write `folder` whole or not at all; returns the weights' sha256. Same weights, same bytes."""
    weights = save({name: tensor.detach().cpu().contiguous() for name, tensor in module.state_dict().items()})
    digest = sha256_bytes(weights)
    description = {
        "format": FORMAT,
        "architecture": {"function": config.model.function, "arguments": plain(config.model.arguments)},
        "classes": list(classes),
        "preprocessing": plain(Preprocessing.of(config)),
        "weights": {"path": _WEIGHTS, "sha256": digest},
        "ema": config.ema.decay > 0,
    }
    with publishing(folder) as temporary:
        write_durably(temporary / _WEIGHTS, weights)
        write_durably(temporary / "model.json", canonical_json(description))
    return digest


def load_model(folder: Path) -> ExportedModel:
    """Read a model folder. Raises TrainerError when a file is missing or its bytes are not those described."""
    description = read_json(folder / "model.json", FORMAT)
    try:
        return _load(folder, description)
    except (KeyError, TypeError) as error:
        raise ModelError(f"the field {error} is missing or wrong", where=str(folder / "model.json")) from None


def _load(folder: Path, description: dict[str, Any]) -> ExportedModel:
    path = folder / str(description["weights"]["path"])
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise ModelError("the weights are missing", where=str(path), remedy="export the model again") from None
    digest = sha256_bytes(data)
    if digest != description["weights"]["sha256"]:
        raise ModelError("the weights are not those that model.json describes", where=str(path), remedy="copy it again")
    classes = tuple(str(name) for name in description["classes"])
    architecture = description["architecture"]
    module = build_model(architecture["function"], architecture["arguments"], len(classes))
    try:
        module.load_state_dict(load(data))
    except (RuntimeError, SafetensorError) as error:
        first = str(error).splitlines()[0]
        raise ModelError(f"the weights do not fit {architecture['function']} ({first})", where=str(path)) from None
    values = description["preprocessing"]
    preprocessing = Preprocessing(**{**values, "mean": tuple(values["mean"]), "std": tuple(values["std"])})
    return ExportedModel(module.eval(), classes, preprocessing, digest)


def use_fixed_threads(threads: int, deterministic: bool = True) -> None:
    """Fix what sums of floats depend on: torch's threads, and kernels that give the same bits every time."""
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS is deterministic only with a fixed workspace
    torch.set_num_threads(threads)
    torch.use_deterministic_algorithms(deterministic, warn_only=True)
    torch.backends.cudnn.benchmark = not deterministic
