"""Networks of our own, and the way to any other: an import path to a function."""

from trainer.models.build import ModelConfig, build_model, head_name, start_from
from trainer.models.resnet import ResNet, resnet18, resnet34, resnet50

__all__ = ["ModelConfig", "ResNet", "build_model", "head_name", "resnet18", "resnet34", "resnet50", "start_from"]
