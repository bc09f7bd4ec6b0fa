"""What a check finds: a rule that is broken, where, why, and what to do."""

from dataclasses import dataclass
from typing import Literal

from overnight.forms.fields import FieldPath

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
