"""What was checked about an image, and what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass

VERIFIED = 0
NOT_JUDGED = 2
REFUSED = 3


@dataclass(frozen=True)
class Check:
    """One thing that was looked at."""

    name: str
    passed: bool
    message: str
    """One sentence without the full stop: what was found."""
    judged: bool = True
    """False: it could not be looked at (a service does not answer), so nothing is known against the image."""

    @property
    def word(self) -> str:
        """For a table."""
        return "pass" if self.passed else "FAIL" if self.judged else "unknown"


@dataclass(frozen=True)
class Verdict:
    """The end of a verification."""

    exit_code: int
    sentence: str


def verdict(image: str, checks: Sequence[Check]) -> Verdict:
    """Verified when everything passed; refused when something is known against the image, else not judged."""
    against = [check for check in checks if check.judged and not check.passed]
    unknown = [check for check in checks if not check.judged]
    if against:
        more = f" ({len(against)} checks failed)" if len(against) > 1 else ""
        return Verdict(REFUSED, f"Refused{more}: {image}: {against[0].name}: {against[0].message}.")
    if unknown or not checks:
        why = f"{unknown[0].name}: {unknown[0].message}" if unknown else "nothing was checked"
        return Verdict(NOT_JUDGED, f"Not judged: {image}: {why}.")
    return Verdict(VERIFIED, f"Verified: {image}: all {len(checks)} checks passed.")
