"""Cloud Build: the repository's link, triggers, worker pool, notifications."""

from typing import Any

from infra.constructs.stack import Stack
from infra.settings import Settings


class Delivery(Stack):
    """See the module."""

    name = "delivery"
    apis = ()

    def __init__(self, scope: Any, settings: Settings) -> None:
        super().__init__(scope, settings)
