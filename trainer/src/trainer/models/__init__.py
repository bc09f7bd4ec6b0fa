"""Networks of our own, and the way to any other: an import path to a function."""

from trainer.models.build import ModelConfig, build_model, head_name, start_from
from trainer.models.resnet import ResNet, resnet18, resnet34, resnet50
from trainer.models.small import ResNet9, resnet9

__all__ = [
    "ModelConfig",
    "ResNet",
    "ResNet9",
    "build_model",
    "head_name",
    "resnet9",
    "resnet18",
    "resnet34",
    "resnet50",
    "start_from",
]
