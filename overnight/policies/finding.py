"""One message of a rule, taken apart."""

import re
from dataclasses import dataclass
from typing import Literal

from overnight.policies.errors import PolicyError

Level = Literal["deny", "warn"]
MESSAGE = re.compile(r"(?P<address>\S+): (?P<problem>.+?); (?P<remedy>.+) \[(?P<id>OVN\d{3,4})\]", re.DOTALL)
"""Three digits for Terraform, OVN1xxx for job specs, OVN2xxx for build files."""


@dataclass(frozen=True)
class Finding:
    """What one rule says about one place."""

    id: str
    address: str
    problem: str
    remedy: str
    level: Level

    @classmethod
    def of(cls, message: object, level: Level) -> "Finding":
        """Take `ADDRESS: PROBLEM; REMEDY [ID]` apart; PolicyError when a rule writes anything else."""
        parts = MESSAGE.fullmatch(message) if isinstance(message, str) else None
        if parts is None:
            raise PolicyError(f"a rule says {message!r}", remedy="build its message with lib.message")
        return cls(parts["id"], parts["address"], parts["problem"], parts["remedy"], level)
