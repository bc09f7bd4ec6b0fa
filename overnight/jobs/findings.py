"""What a check of a job spec finds, and what a check is."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from overnight.forms.findings import Finding, Rule, Severity, error, warning

if TYPE_CHECKING:
    from overnight.jobs.context import Context
    from overnight.jobs.view import JobView

__all__ = ["Check", "Finding", "Rule", "Severity", "error", "warning"]

Check = Callable[["JobView", "Context"], Iterable[Finding]]
"""A pure function of a job whose form is right, and of what is known of its surroundings."""
