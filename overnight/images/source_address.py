"""The one way to write where a Git repository is, so that two writings of one repository compare as equal."""

import re
from urllib.parse import SplitResult, unquote, urlsplit

from overnight.images.errors import ImageError

SCHEMES = ("https", "ssh", "git")
"""Not http: what anyone on the way can change is not the same source."""
_SCP = re.compile(r"(?:[A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):(?!//)(?!\d+/)(.+)")
"""`git@github.com:acme/vision.git`, as ssh writes it."""
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
_PATH = re.compile(r"(/[A-Za-z0-9._~+-]+)+")
COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A whole commit id, SHA-1 or SHA-256."""


def normal_source(text: object) -> str | None:
    """`https://HOST/PATH` without user, port, `.git`, `git+`, `@ref` and fragment; None for what is no such address."""
    if not isinstance(text, str) or not text.isascii() or not text.isprintable() or " " in text:
        return None
    address = text.removeprefix("git+")
    if "://" not in address:
        found = _SCP.fullmatch(address)
        if found is None:
            return None
        address = f"ssh://{found[1]}/{found[2]}"
    split = _split(address)
    if split is None or split.scheme not in SCHEMES or split.query:
        return None
    host, path = (split.hostname or "").lower(), unquote(split.path).partition("@")[0].rstrip("/")
    path = path.removesuffix(".git").rstrip("/")
    if not _HOST.fullmatch(host) or not _PATH.fullmatch(path) or {"..", "."} & set(path.split("/")):
        return None
    return f"https://{host}{path}"


def parse_source(text: str, where: str) -> str:
    """The normal form of an address that somebody gave in `where`. Raises ImageError."""
    source = normal_source(text)
    if source is None:
        raise ImageError(
            f"{text!r} is no address of a Git repository",
            where=where,
            remedy="write it like https://github.com/acme/vision",
        )
    return source


def parse_commit(text: str, where: str) -> str:
    """A whole commit id in lower case, from what somebody gave in `where`. Raises ImageError."""
    commit = text.lower()
    if not COMMIT.fullmatch(commit):
        raise ImageError(
            f"{text!r} is no whole commit id",
            where=where,
            remedy="give all 40 (or 64) hex digits, as git rev-parse does",
        )
    return commit


def _split(address: str) -> SplitResult | None:
    try:
        split = urlsplit(address)
        _ = split.port  # a port that is no number is found here
    except ValueError:
        return None
    return split
