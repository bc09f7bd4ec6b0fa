"""Registries, buckets, datasets: what is kept."""

from typing import Any

from infra.constructs.stack import Stack
from infra.settings import Settings


class Artifacts(Stack):
    """See the module."""

    name = "artifacts"
    apis = ()

    def __init__(self, scope: Any, settings: Settings) -> None:
        super().__init__(scope, settings)
