"""The outcome of one check."""

from dataclasses import dataclass
from typing import Literal

from overnight.labels.facts import Found

Verdict = Literal["pass", "warn", "fail"]

SHOWN = 5
"""Examples in a result."""


@dataclass(frozen=True, kw_only=True)
class CheckResult:
    """One check's verdict, in plain words and in numbers."""

    name: str
    verdict: Verdict
    message: str
    value: float
    """What was found."""
    threshold: float
    """What `value` was held against."""
    examples: tuple[str, ...] = ()


def percent(share: float) -> str:
    """A share in words: `5 %`, `0.73 %`, `0.0002 %`."""
    return f"{share * 100:.2g} %" if share < 1 else f"{share * 100:.0f} %"


def part(count: int, total: int) -> str:
    """A count with its total and share: `25 of 3,416 (0.73 %)`."""
    return f"{count:,} of {total:,} ({percent(count / max(total, 1))})"


def share_check(name: str, found: Found, total: int, limit: float, fault: str, remedy: str) -> CheckResult:
    """Pass on none, warn up to `limit` as a share of `total`, fail beyond it.

    `fault` completes "25 of 3,416 (0.73 %) …"; `remedy` is a sentence that says what to do.
    """
    share = found.count / max(total, 1)
    if found.count == 0:
        return CheckResult(name=name, verdict="pass", message=f"0 of {total:,} {fault}.", value=0.0, threshold=limit)
    if share <= limit:
        verdict: Verdict = "warn"
        message = f"{part(found.count, total)} {fault}; up to {percent(limit)} is accepted and they are left out."
    else:
        verdict = "fail"
        message = f"{part(found.count, total)} {fault}; at most {percent(limit)} may. {remedy}"
    return CheckResult(
        name=name, verdict=verdict, message=message, value=share, threshold=limit, examples=found.examples
    )
