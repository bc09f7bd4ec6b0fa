"""A mistake in an environment file, and how several become one sentence."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from overnight.config.section import ConfigError
from overnight.wording import counted


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong in one field, such as `google.persistent_resources[0].expires`."""

    field: str
    """Empty for the file as a whole."""
    problem: str
    remedy: str | None = None


def first_of(path: Path, mistakes: Sequence[Mistake]) -> ConfigError:
    """The first mistake in full, and how many more there are."""
    first = mistakes[0]
    problem, remedy = first.problem, first.remedy
    if len(mistakes) > 1:
        more = f"(and {counted(len(mistakes) - 1, 'other mistake', 'other mistakes')} in this file)"
        problem, remedy = (f"{problem} {more}", None) if remedy is None else (problem, f"{remedy} {more}")
    return ConfigError(problem, where=f"{path}, {first.field}" if first.field else str(path), remedy=remedy)
