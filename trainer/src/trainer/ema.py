"""An exponential moving average of the weights: what is evaluated and exported when it is on."""

import copy
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from trainer.fields import require


@dataclass(frozen=True, kw_only=True)
class EmaConfig:
    """The average's memory."""

    decay: float = 0.0
    """Share kept a step, such as 0.999; 0 = no average. Early on it is less: (1 + step) / (10 + step)."""

    def __post_init__(self) -> None:
        require(0 <= self.decay < 1, "ema.decay", self.decay, "give 0 (off) up to 1")


def averaged_copy(model: nn.Module) -> nn.Module:
    """The model that will hold the average: a copy in evaluation mode that no gradient reaches."""
    average = copy.deepcopy(model).eval()
    for parameter in average.parameters():
        parameter.requires_grad_(False)
    return average


@torch.no_grad()
def update(average: nn.Module, model: nn.Module, decay: float, step: int) -> None:
    """Move `average` towards `model` after `step` (from 0); floating-point buffers too, others are copied."""
    keep = min(decay, (1 + step) / (10 + step))
    ours: list[Tensor] = list(average.parameters())
    theirs: list[Tensor] = list(model.parameters())
    for mine, its in zip(average.buffers(), model.buffers(), strict=True):
        if mine.is_floating_point():
            ours.append(mine)
            theirs.append(its)
        else:
            mine.copy_(its)
    torch._foreach_lerp_(ours, theirs, 1 - keep)
