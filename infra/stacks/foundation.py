"""APIs, service agents, accounts and keys: what everything else stands on."""

from collections.abc import Sequence
from typing import Any

from infra.constructs.stack import Stack
from infra.settings import Settings


class Foundation(Stack):
    """See the module."""

    name = "foundation"
    apis = ()

    def __init__(self, scope: Any, settings: Settings, enabled: Sequence[str]) -> None:
        super().__init__(scope, settings)
        self.enabled = enabled
