"""Names that must be short enough, or different."""

from collections.abc import Iterator
from typing import get_args

from overnight.config.mistakes import Mistake
from overnight.config.names import ROLES, Names, Purpose

ACCOUNT_ID = range(6, 31)
"""Characters of a service account's id (IAM)."""


def name_mistakes(names: Names) -> Iterator[Mistake]:
    """Account ids of the wrong length, buckets of the same name, a state bucket that is one of them.

    Default bucket names need no check: 30 characters of project, 21 of environment and a purpose are at most 60 of 63.
    """
    longest = max((names.account_id(role) for role in ROLES), key=len)
    if len(longest) not in ACCOUNT_ID:
        most = len(names.environment) - (len(longest) - ACCOUNT_ID[-1])
        yield Mistake(
            "environment",
            f"the service account {longest!r} has {len(longest)} characters, IAM allows {ACCOUNT_ID[-1]}",
            f"give a name of at most {most} characters",
        )
    yield from _buckets(names)


def _buckets(names: Names) -> Iterator[Mistake]:
    purposes: dict[str, list[str]] = {}
    for purpose in get_args(Purpose):
        purposes.setdefault(names.bucket(purpose), []).append(purpose)
    for bucket, shared in purposes.items():
        if len(shared) > 1:
            yield Mistake(
                "google.storage.bucket_names",
                f"{' and '.join(shared)} are both called {bucket!r}",
                "give each bucket its own name",
            )
    state = names.google.state.bucket
    if state in purposes:
        yield Mistake(
            "google.state.bucket",
            f"{state!r} is the bucket for {purposes[state][0]}",
            "give Terraform's state a bucket of its own",
        )
