"""What can go wrong with shard sets and can be put right by the user."""

from overnight.errors import OvernightError


class ShardError(OvernightError):
    """A shard set is missing, damaged, or cannot be built from what is there."""


class NothingToAdd(Exception):
    """The catalogue holds nothing that the newest shard set does not hold already; no mistake, so not an error."""
