"""Custom jobs that another resource runs: a tuning job's trials, a pipeline's steps."""

import hashlib

from overnight.vertex_local.state.store import parent_of


def child_number(owner: str, *parts: str) -> int:
    """A number of 18 digits that is always the same for the same `parts` of the resource `owner`."""
    digest = hashlib.sha256("\n".join((owner, *parts)).encode()).digest()
    return 10**17 + int.from_bytes(digest[:8]) % (9 * 10**17)


def child_name(owner: str, *parts: str) -> str:
    """The name of the custom job that `owner` runs for `parts`: found again after a restart, so never run twice."""
    return f"{parent_of(owner)}/customJobs/{child_number(owner, *parts)}"
