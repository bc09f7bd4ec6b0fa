"""The optimizer, and the loss it minimises."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from trainer.fields import require


@dataclass(frozen=True, kw_only=True)
class OptimizerConfig:
    """How weights follow gradients."""

    name: Literal["sgd", "adamw"] = "sgd"
    """Stochastic gradient descent with Nesterov momentum, or AdamW."""
    learning_rate: float = 0.5
    """At the peak of the schedule, for the whole global batch; it is not scaled by the number of workers."""
    momentum: float = 0.9
    """Of sgd; the first beta of adamw."""
    second_momentum: float = 0.999
    """The second beta of adamw."""
    weight_decay: float = 5e-5
    """Not applied to biases and normalisation weights (every parameter with fewer than two dimensions)."""
    clip_norm: float = 0.0
    """Gradients longer than this are shortened to it; 0 = never."""

    def __post_init__(self) -> None:
        require(self.learning_rate > 0, "optimizer.learning_rate", self.learning_rate, "give a number above 0")
        require(0 <= self.momentum < 1, "optimizer.momentum", self.momentum, "give 0 up to 1")
        require(0 <= self.second_momentum < 1, "optimizer.second_momentum", self.second_momentum, "give 0 up to 1")
        require(self.weight_decay >= 0, "optimizer.weight_decay", self.weight_decay, "give 0 or more")
        require(self.clip_norm >= 0, "optimizer.clip_norm", self.clip_norm, "give 0 (off) or more")


@dataclass(frozen=True, kw_only=True)
class LossConfig:
    """Cross entropy and what softens it."""

    label_smoothing: float = 0.1
    """Share of the target spread over all classes."""
    class_weight_power: float = 0.0
    """A class weighs its frequency to this power, scaled to a mean of 1. 0 = all alike; -1 makes rare classes count
    as much as common ones; with `data.sampling = "balanced"`, 1 gives back the frequencies that it took away."""

    def __post_init__(self) -> None:
        require(0 <= self.label_smoothing < 1, "loss.label_smoothing", self.label_smoothing, "give 0 up to 1")
        require(
            -1 <= self.class_weight_power <= 1,
            "loss.class_weight_power",
            self.class_weight_power,
            "give a number from -1 to 1",
        )


def build_optimizer(model: nn.Module, config: OptimizerConfig) -> torch.optim.Optimizer:
    """An optimizer over all parameters of `model`; frozen ones have no gradient and are passed over."""
    matrices = [parameter for parameter in model.parameters() if parameter.dim() >= 2]
    vectors = [parameter for parameter in model.parameters() if parameter.dim() < 2]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    groups = [group for group in groups if group["params"]]
    if config.name == "sgd":
        return torch.optim.SGD(
            groups, lr=config.learning_rate, momentum=config.momentum, nesterov=config.momentum > 0, foreach=True
        )
    return torch.optim.AdamW(
        groups, lr=config.learning_rate, betas=(config.momentum, config.second_momentum), foreach=True
    )


def class_weights(counts: Tensor, power: float, balanced: bool) -> Tensor | None:
    """Weights [classes] whose mean over the samples drawn is 1; None when all are 1.

    `counts` [classes] of the training split; `balanced`: each class is drawn equally often. A class without
    samples gets weight 0: no sample will ask for it.
    """
    if power == 0:
        return None
    present = counts > 0
    weights = torch.where(present, counts.clamp(min=1).double().pow(power), torch.zeros((), dtype=torch.double))
    drawn = present.double() if balanced else counts.double()
    return (weights * drawn.sum() / (weights * drawn).sum()).float()


def summed_loss(logits: Tensor, class_ids: Tensor, smoothing: float, weights: Tensor | None) -> Tensor:
    """Cross entropy summed over the samples, in float32.

    Summed, not averaged: divided by the global batch it is the same loss however the batch is split.
    """
    return nn.functional.cross_entropy(
        logits.float(), class_ids, weight=weights, label_smoothing=smoothing, reduction="sum"
    )
