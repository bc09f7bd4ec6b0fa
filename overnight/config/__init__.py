"""The environment: one YAML file, validated into frozen models; infra and the control plane read the same one."""

from overnight.config.environment import (
    Environment,
    GateConfig,
    LabelsConfig,
    ShardsConfig,
    SplitConfig,
    ValidationConfig,
)
from overnight.config.google import GoogleConfig
from overnight.config.loading import load
from overnight.config.section import ConfigError, Section

__all__ = [
    "ConfigError",
    "Environment",
    "GateConfig",
    "GoogleConfig",
    "LabelsConfig",
    "Section",
    "ShardsConfig",
    "SplitConfig",
    "ValidationConfig",
    "load",
]
