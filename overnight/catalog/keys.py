"""Keys: names for images that hold for ever (docs/formats.md, "Keys"). Pure functions."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

MAX_BYTES = 90
_ALLOWED = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")
_OTHER = re.compile(r"[^A-Za-z0-9_/-]")
_SUFFIX_BYTES = 9  # "-" and 8 hex digits


def assign(sources: Iterable[str], known: Mapping[str, str]) -> dict[str, str]:
    """The key of each source (a path with `/`, relative to the imported folder).

    `known` maps the sources imported earlier to their keys, which stay. The result does not depend on the order of
    `sources`: of new sources that would share a key, each gets the digest of its own path.
    """
    new = sorted(set(sources) - known.keys())
    taken = set(known.values())
    wanted = Counter(_stem(source) for source in new)
    keys = {source: known[source] for source in sources if source in known}
    for source in new:
        stem = _stem(source)
        plain = is_key(stem) and wanted[stem] == 1 and stem not in taken
        keys[source] = stem if plain else _with_digest(stem, source)
    return keys


def is_key(text: str) -> bool:
    """Whether `text` may be a key as it is."""
    return len(text) <= MAX_BYTES and _ALLOWED.fullmatch(text) is not None


def _stem(source: str) -> str:
    path = PurePosixPath(source)
    return str(path.with_suffix("")) if path.suffix else source


def _with_digest(stem: str, source: str) -> str:
    digest = hashlib.sha256(source.encode()).hexdigest()[:8]
    return f"{_OTHER.sub('_', stem)[: MAX_BYTES - _SUFFIX_BYTES]}-{digest}"
