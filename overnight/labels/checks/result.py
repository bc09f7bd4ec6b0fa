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


def part(count: int, total: int, things: str) -> str:
    """A count with its total and share: `25 of 3,416 rows (0.73 %)`."""
    return f"{count:,} of {total:,} {things} ({percent(count / max(total, 1))})"


def nothing_before(name: str, threshold: float) -> CheckResult:
    """A check of change passes where there is no earlier snapshot."""
    message = "This is the first snapshot: there is nothing to compare with."
    return CheckResult(name=name, verdict="pass", message=message, value=0, threshold=threshold)


def share_check(name: str, found: Found, total: tuple[int, str], limit: float, fault: str, remedy: str) -> CheckResult:
    """Pass on none, warn up to `limit` as a share of `total`, fail beyond it.

    `total` is a number and what it counts; `fault` completes "25 of 3,416 rows (0.73 %) …"; `remedy` is a sentence
    that says what to do.
    """
    number, things = total
    share = found.count / max(number, 1)
    verdict: Verdict = "pass"
    message = f"0 of {number:,} {things} {fault}."
    if found.count and share <= limit:
        verdict = "warn"
        message = f"{part(found.count, number, things)} {fault}; up to {percent(limit)} is accepted."
    elif found.count:
        verdict = "fail"
        message = f"{part(found.count, number, things)} {fault}; at most {percent(limit)} may. {remedy}"
    return CheckResult(
        name=name, verdict=verdict, message=message, value=share, threshold=limit, examples=found.examples
    )
