"""What becomes of samples that cannot be decoded: stop, or go on with a substitute until a budget is spent."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np

from trainer.data.randomness import Purpose, words
from trainer.data.snapshot import Rows
from trainer.errors import BadSampleError, ConfigError

MAX_ATTEMPTS = 16
"""Substitutes tried for one sample before the run stops: so many bad ones in a row mean that the data is."""


class BadSample(NamedTuple):
    """One sample that could not be used."""

    key: str
    shard: str
    """Path of the tar file."""
    offset: int
    reason: str
    """A name from `native.STATUSES`."""


@dataclass(frozen=True)
class BadSamplePolicy:
    """What happens when a sample cannot be decoded."""

    action: Literal["raise", "skip"] = "raise"
    """raise stops at the first one; skip goes on with a substitute."""
    budget: int = 0
    """With skip: stop when one worker has met more different bad samples than this."""

    def __post_init__(self) -> None:
        if self.action not in ("raise", "skip"):
            raise ConfigError(f"{self.action!r} is not known", where="bad_samples.action", remedy="give raise or skip")
        if self.budget < 0:
            raise ConfigError("this must be 0 or more", where="bad_samples.budget")


@dataclass
class BadSampleLog:
    """The different bad samples one loader has met, in the order of the stream."""

    rows: Rows
    policy: BadSamplePolicy
    found: list[BadSample] = field(default_factory=list)
    _seen: set[int] = field(default_factory=set)

    def add(self, sample: int, reason: str) -> None:
        """Note a bad sample. Raises BadSampleError when the policy says stop."""
        if sample in self._seen:
            return
        self._seen.add(sample)
        bad = describe(self.rows, sample, reason)
        self.found.append(bad)
        if self.policy.action == "raise":
            raise BadSampleError(
                f"sample {bad.key} is {bad.reason}",
                where=f"{bad.shard}, offset {bad.offset}",
                remedy="repair the shard set, or allow bad samples with the policy skip and a budget",
            )
        if len(self.found) > self.policy.budget:
            raise BadSampleError(
                f"sample {bad.key} is {bad.reason}, and that is one more bad sample than the budget of "
                f"{self.policy.budget}",
                where=f"{bad.shard}, offset {bad.offset}",
                remedy="repair the shard set or raise the budget",
            )


def describe(rows: Rows, sample: int, reason: str) -> BadSample:
    """The bad sample's key and place."""
    shard = rows.paths[int(rows.shard[sample])]
    return BadSample(rows.keys[sample].as_py(), shard, int(rows.offset[sample]), reason)


def substitute(seed: int, epoch: int, sample: int, attempt: int, rows_count: int) -> int:
    """The row used instead of a bad `sample` at the given attempt; a function of the arguments alone."""
    return int(words(seed, Purpose.SUBSTITUTE, epoch, sample, attempt) % np.uint64(rows_count))
