"""Which split a group stands in: a function of the salt and the group alone, so that nothing moves week by week.

The first 16 hex digits of SHA-256(`<salt>:<group_id>`) are compared as text with two limits; equal-length lower-case
hex digits sort as numbers do. The same comparison stands here in Python and as SQL, which BigQuery runs too
(`TO_HEX(SHA256(…))`).
"""

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction

from overnight.config import SplitConfig

SPLITS = ("train", "validation", "test")
"""Split names in the order of their codes 0, 1, 2."""

_ABOVE_EVERY_DIGEST = "g"


@dataclass(frozen=True, kw_only=True)
class SplitRule:
    """The salt, and for each border the smallest 16-digit hex text that lies beyond it."""

    salt: str
    train_limit: str
    validation_limit: str


def split_rule(config: SplitConfig) -> SplitRule:
    """The rule of a configuration. Shares count as the decimals written (0.7 is 7/10, not the nearest double)."""
    train = Fraction(repr(config.train))
    validation = Fraction(repr(config.validation))
    return SplitRule(salt=config.salt, train_limit=_limit(train), validation_limit=_limit(train + validation))


def split_code(rule: SplitRule, group_id: str) -> int:
    """The position in SPLITS of the split in which `group_id` stands."""
    digest = hashlib.sha256(f"{rule.salt}:{group_id}".encode()).hexdigest()
    if digest < rule.train_limit:
        return 0
    return 1 if digest < rule.validation_limit else 2


def split_code_sql(rule: SplitRule, group_column: str) -> str:
    """`split_code` as a DuckDB expression over a VARCHAR column: UTINYINT 0, 1 or 2."""
    salt = f"{rule.salt}:".replace("'", "''")
    digest = f"sha256('{salt}' || {group_column})"
    return (
        f"CASE WHEN {digest} < '{rule.train_limit}' THEN 0::UTINYINT"
        f" WHEN {digest} < '{rule.validation_limit}' THEN 1::UTINYINT ELSE 2::UTINYINT END"
    )


def _limit(share: Fraction) -> str:
    """The smallest 64-bit number n, in hex, with n / 2^64 >= share: a smaller digest has u < share."""
    number = math.ceil(share * 2**64)
    return _ABOVE_EVERY_DIGEST if number >= 2**64 else f"{number:016x}"
