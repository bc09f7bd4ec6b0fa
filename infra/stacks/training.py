"""Vertex AI: pools, schedules, TensorBoard, alerts, dashboard, budget."""

from typing import Any

from infra.constructs.stack import Stack
from infra.settings import Settings


class Training(Stack):
    """See the module."""

    name = "training"
    apis = ()

    def __init__(self, scope: Any, settings: Settings) -> None:
        super().__init__(scope, settings)
