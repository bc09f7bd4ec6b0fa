"""What a check of a job spec finds: a rule that is broken, where, why, and what to do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from overnight.jobs.document import FieldPath

if TYPE_CHECKING:
    from overnight.jobs.context import Context
    from overnight.jobs.view import JobView

Severity = Literal["error", "warning"]
"""`error`: the job is refused, or cannot do what it says. `warning`: it starts, and someone will regret it."""


@dataclass(frozen=True)
class Finding:
    """One broken rule at one place."""

    rule: str
    severity: Severity
    path: FieldPath
    message: str
    remedy: str


@dataclass(frozen=True)
class Rule:
    """One sentence that a spec must fulfil, under a short name that stays."""

    slug: str
    severity: Severity
    sentence: str
    source: str
    """Where it is said: a section of vertex-facts, a documentation page, the API's comments, a public report."""

    def at(self, path: FieldPath, message: str, remedy: str) -> Finding:
        """The finding that this rule is broken at `path`."""
        return Finding(self.slug, self.severity, path, message, remedy)


def error(slug: str, sentence: str, source: str) -> Rule:
    """A rule whose breach is an error."""
    return Rule(slug, "error", sentence, source)


def warning(slug: str, sentence: str, source: str) -> Rule:
    """A rule whose breach is a warning."""
    return Rule(slug, "warning", sentence, source)


Check = Callable[["JobView", "Context"], Iterable[Finding]]
"""A pure function of a job whose form is right, and of what is known of its surroundings."""
