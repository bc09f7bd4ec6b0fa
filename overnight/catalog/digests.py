"""Read images once for their size, time and digest; those that did not change are not read again."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec

from overnight.catalog.catalogue import Image
from overnight.catalog.errors import ImportProblem
from overnight.catalog.found import Found

READERS = 8


def catalogued(
    images: Iterable[tuple[str, Found]], known: Mapping[str, Image], advance: Callable[[], None]
) -> list[Image]:
    """Catalogue rows of (key, image) pairs; `known` holds earlier rows by key, `advance` is called after each image.

    Raises ImportProblem naming the first file that is missing or cannot be read.
    """

    def look(pair: tuple[str, Found]) -> Image:
        row = _look(*pair, known.get(pair[0]))
        advance()
        return row

    with ThreadPoolExecutor(READERS) as pool:
        try:
            return list(pool.map(look, images))
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _look(key: str, found: Found, known: Image | None) -> Image:
    try:
        reader = _remote if "://" in found.uri else _local
        return reader(key, found, known)
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise ImportProblem(
            f"this image cannot be read ({reason})", where=found.uri, remedy="put it right, or leave it out"
        ) from None


def _local(key: str, found: Found, known: Image | None) -> Image:
    path = Path(found.uri)
    if not stat.S_ISREG(path.stat().st_mode):  # opening a pipe would wait for ever
        raise ImportProblem("this is not a file", where=found.uri, remedy="leave it out")
    with path.open("rb") as file:
        status = os.fstat(file.fileno())
        same = known is not None and (known.uri, known.size, known.mtime_ns) == (
            found.uri,
            status.st_size,
            status.st_mtime_ns,
        )
        digest = known.sha256 if known and same else hashlib.file_digest(file, "sha256").digest()
    return Image(key, found.uri, found.source, status.st_size, status.st_mtime_ns, digest)


def _remote(key: str, found: Found, known: Image | None) -> Image:
    filesystem, path = fsspec.core.url_to_fs(found.uri)
    info = filesystem.info(path)
    size, mtime_ns = int(info["size"]), _modified_ns(info)
    if known and mtime_ns and (known.uri, known.size, known.mtime_ns) == (found.uri, size, mtime_ns):
        return Image(key, found.uri, found.source, size, mtime_ns, known.sha256)
    digest = hashlib.sha256(filesystem.cat_file(path)).digest()
    return Image(key, found.uri, found.source, size, mtime_ns, digest)


def _modified_ns(info: Mapping[str, Any]) -> int:
    """The modification time in fsspec's words, which differ from store to store; 0 where there is none."""
    value = next((info[name] for name in ("mtime", "updated", "LastModified", "created") if info.get(name)), None)
    if isinstance(value, str):
        value = datetime.fromisoformat(value)
    if isinstance(value, datetime):
        value = (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
    return int(value * 1_000_000) * 1_000 if isinstance(value, int | float) else 0
