"""What no single field can tell: whether an environment holds together, and goes with those beside it.

Each check yields mistakes, never raises: `infra.settings` tells the first and counts the others.
"""

from collections.abc import Iterator
from datetime import date

from infra.checks.names import name_mistakes
from infra.checks.places import place_mistakes
from infra.checks.pools import pool_mistakes
from infra.checks.schedules import schedule_mistakes
from overnight.config.mistakes import Mistake
from overnight.config.names import Names

__all__ = ["environment_mistakes"]


def environment_mistakes(names: Names, today: date) -> Iterator[Mistake]:
    """Every mistake across the fields of one environment."""
    yield from place_mistakes(names.google)
    yield from name_mistakes(names)
    yield from pool_mistakes(names.google, today)
    yield from schedule_mistakes(names)
