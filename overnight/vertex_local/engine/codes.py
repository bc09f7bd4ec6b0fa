"""The numbers of google.rpc.Code that CustomJob.error carries."""

from enum import IntEnum


class Code(IntEnum):
    """As in google/rpc/code.proto. Which one Vertex AI uses for what is seen in public logs, not documented."""

    CANCELLED = 1
    INVALID_ARGUMENT = 3
    """A replica ended badly."""
    DEADLINE_EXCEEDED = 4
    RESOURCE_EXHAUSTED = 8
    """There are no such machines."""
    INTERNAL = 13
