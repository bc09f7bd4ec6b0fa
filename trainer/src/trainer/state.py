"""Everything that a run changes as it goes, and its two-way road to a checkpoint."""

import copy
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from trainer.errors import CheckpointError


@dataclass
class Progress:
    """How far the run is."""

    step: int = 0
    """Steps done."""
    loss_sum: float = 0.0
    """Training loss summed over the steps since the last evaluation."""
    loss_steps: int = 0
    seconds: float = 0.0
    """Wall time of the attempts before this one."""
    epochs: list[dict[str, Any]] = field(default_factory=list)
    """`epochs` of metrics.json, one entry an evaluation."""


@dataclass
class RunState:
    """Model, its average (or None), optimizer, loss scaler, progress."""

    model: nn.Module
    average: nn.Module | None
    optimizer: torch.optim.Optimizer
    scaler: torch.amp.GradScaler
    head: str
    """Name of the classification layer inside the model."""
    progress: Progress

    @property
    def best_model(self) -> nn.Module:
        """What is evaluated and exported."""
        return self.model if self.average is None else self.average

    def tensors(self) -> dict[str, Tensor]:
        """All tensors by name: `model/…`, `average/…`, `optimizer/<parameter number>/<name>`."""
        found = {f"model/{name}": tensor for name, tensor in self.model.state_dict().items()}
        if self.average is not None:
            found |= {f"average/{name}": tensor for name, tensor in self.average.state_dict().items()}
        for index, parameter in enumerate(self._parameters()):
            for name, value in self.optimizer.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    found[f"optimizer/{index}/{name}"] = value
        return found

    def facts(self) -> dict[str, Any]:
        """What is no tensor, as the checkpoint's manifest holds it; a copy that later steps do not change."""
        return {"progress": copy.deepcopy(vars(self.progress)), "scaler": self.scaler.state_dict()}

    @torch.no_grad()
    def restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Take over a checkpoint's state. Raises CheckpointError when a tensor is missing or does not fit."""
        expected = {name: tensor for name, tensor in self.tensors().items() if not name.startswith("optimizer/")}
        for name, tensor in expected.items():
            if name not in tensors or tensors[name].shape != tensor.shape:
                raise CheckpointError(
                    f"the checkpoint has no {name!r} of this shape",
                    remedy="the model's code has changed: give another --output",
                )
            tensor.copy_(tensors[name])
        self._restore_optimizer(tensors)
        if self.scaler.is_enabled():
            self.scaler.load_state_dict(facts["scaler"])
        self.progress = Progress(**facts["progress"])

    def _restore_optimizer(self, tensors: dict[str, Tensor]) -> None:
        for index, parameter in enumerate(self._parameters()):
            prefix = f"optimizer/{index}/"
            for name in (name for name in tensors if name.startswith(prefix)):
                value = tensors[name]
                if value.shape == parameter.shape and value.dim() > 0:
                    # With the parameter's own strides and device, as the optimizer would have made it.
                    value = torch.empty_like(parameter).copy_(value)
                self.optimizer.state[parameter][name.removeprefix(prefix)] = value

    def _parameters(self) -> list[nn.Parameter]:
        return [parameter for group in self.optimizer.param_groups for parameter in group["params"]]
