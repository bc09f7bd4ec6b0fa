"""Which commit the code of a run came from."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


@dataclass(frozen=True)
class GitState:
    """A checkout at one moment."""

    commit: str
    dirty: bool
    """Whether a file differs from the commit or is unknown to it."""
    repository: str | None
    """The remote's address without credentials; None where there is no remote."""


def git_state(folder: Path) -> GitState | None:
    """The checkout that `folder` stands in; None outside one, before its first commit, or without git."""
    commit = _git(folder, "rev-parse", "--verify", "HEAD")
    if commit is None:
        return None
    remote = _git(folder, "remote", "get-url", "origin")
    return GitState(
        commit=commit,
        dirty=bool(_git(folder, "status", "--porcelain")),
        repository=without_credentials(remote) if remote else None,
    )


def has_commit(folder: Path, commit: str) -> bool:
    """Whether the checkout that `folder` stands in holds `commit`."""
    return _git(folder, "cat-file", "-e", f"{commit}^{{commit}}") is not None


def without_credentials(address: str) -> str:
    """`https://user:token@host/x` as `https://host/x`; other forms hold no secret and stay."""
    return _CREDENTIALS.sub("", address)


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return None
    return done.stdout.strip() if done.returncode == 0 else None
