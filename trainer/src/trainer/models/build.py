"""A model from an import path, and weights to start from."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from trainer.buckets import local_path
from trainer.errors import ConfigError
from trainer.fields import require
from trainer.files import read_json


@dataclass(frozen=True, kw_only=True)
class ModelConfig:
    """Which network is trained, and from which weights it starts."""

    function: str = "trainer.models:resnet50"
    """`module:function`, called as `function(num_classes, **arguments)`; any importable one that returns a module."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Keyword arguments of the function."""
    pretrained: str = ""
    """A model folder of an earlier run, or a .safetensors file; empty = random weights."""
    frozen_epochs: int = 0
    """Train the head alone for this many epochs first; batch norms stay in evaluation mode meanwhile."""
    head: str = ""
    """Name of the classification layer inside the module; empty = the last `nn.Linear`."""

    def __post_init__(self) -> None:
        module, _, name = self.function.partition(":")
        require(
            bool(module and name), "model.function", self.function, "write module:function, as trainer.models:resnet18"
        )
        require(self.frozen_epochs >= 0, "model.frozen_epochs", self.frozen_epochs, "give 0 or more epochs")


def build_model(function: str, arguments: Mapping[str, Any], num_classes: int) -> nn.Module:
    """Import `function` and call it. Raises ConfigError when it is not there or refuses the arguments."""
    factory = _import(function)
    try:
        inspect.signature(factory).bind(num_classes, **arguments)
    except TypeError as error:
        raise ConfigError(
            f"{function} does not take these arguments ({error})",
            where="model.arguments",
            remedy="correct their names",
        ) from None
    model = factory(num_classes, **arguments)
    if not isinstance(model, nn.Module):
        raise ConfigError(
            f"{function} returned {type(model).__name__}", where="model.function", remedy="return a torch.nn.Module"
        )
    return model


def _import(function: str) -> Callable[..., Any]:
    module_name, _, name = function.partition(":")
    try:
        found = getattr(importlib.import_module(module_name), name)
    except ImportError as error:
        raise ConfigError(
            f"{function} cannot be imported ({error})",
            where="model.function",
            remedy="install the package or put its folder on PYTHONPATH",
        ) from None
    except AttributeError:
        raise ConfigError(
            f"module {module_name} has no {name!r}", where="model.function", remedy="check the function's name"
        ) from None
    if not callable(found):
        raise ConfigError(f"{function} is not a function", where="model.function", remedy="name a function")
    return found  # type: ignore[no-any-return]


def head_name(model: nn.Module, configured: str = "") -> str:
    """The name of the classification layer: as configured, else the last `nn.Linear`. Raises ConfigError."""
    names: list[str] = [name for name, module in model.named_modules() if name and isinstance(module, nn.Linear)]
    known = {name for name, _ in model.named_modules()}
    if configured:
        require(configured in known, "model.head", configured, "name a module of the network")
        return configured
    if not names:
        raise ConfigError("no linear layer was found to take as the head", where="model.head", remedy="name it")
    return names[-1]


def start_from(model: nn.Module, source: str, head: str, classes: tuple[str, ...]) -> None:
    """Load weights into `model`; its head is left as it is unless the source's class list is the same.

    Raises ConfigError when a weight is missing or has another shape.
    """
    path = local_path(source)
    weights, source_classes = _read_weights(path)
    keep_head = source_classes == classes
    wanted = model.state_dict()
    chosen: dict[str, Tensor] = {}
    for name, tensor in wanted.items():
        if not keep_head and name.startswith(f"{head}."):
            continue
        if name not in weights:
            raise _misfit(path, f"has no weight {name!r}")
        if weights[name].shape != tensor.shape:
            raise _misfit(path, f"{name!r} is {_shape(weights[name])} there and {_shape(tensor)} in this model")
        chosen[name] = weights[name]
    with torch.no_grad():
        for name, tensor in chosen.items():
            wanted[name].copy_(tensor)


def _read_weights(path: Path) -> tuple[dict[str, Tensor], tuple[str, ...] | None]:
    classes = None
    if path.is_dir():
        description = read_json(path / "model.json", "overnight.model/1")
        classes = tuple(description["classes"])
        path = path / description["weights"]["path"]
    try:
        return load_file(path), classes
    except FileNotFoundError:
        raise ConfigError(
            "there are no weights to start from", where=str(path), remedy="correct model.pretrained"
        ) from None
    except (SafetensorError, IsADirectoryError) as error:
        raise ConfigError(f"this is not a safetensors file ({error})", where=str(path)) from None


def _misfit(path: Path, problem: str) -> ConfigError:
    return ConfigError(problem, where=str(path), remedy="start from a model of the same architecture and arguments")


def _shape(tensor: Tensor) -> str:
    return "x".join(str(size) for size in tensor.shape) or "a scalar"
